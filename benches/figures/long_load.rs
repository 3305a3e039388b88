//! A load that sends its buffer many times: whether it keeps its rate and its memory.

use std::time::Instant;

use bucket_benches::{Figure, Result, Unit, peak_memory};
use bucket_runtime::{Bucket, bson::Document};

use crate::{
    bench::{Bench, Theme},
    trade::{Trade, customer_at_random, trade},
};

pub(crate) const THEME: Theme = Theme {
    name: "long load",
    figures: &[&LATE_VS_EARLY, &MEMORY],
    measure: |bench| Box::pin(measure(bench)),
};

static LATE_VS_EARLY: Figure = Figure::new(
    "long_load_late_vs_early",
    Unit::ItemsPerSecond,
    "`append_many` of a million items of 100,000 keys at random, capacity 10, a buffer of 16 MiB: the last fifth against the second",
)
.to_reach(0.9);
static MEMORY: Figure = Figure::new(
    "long_load_memory",
    Unit::Megabytes,
    "`append_many` of a million items of 100,000 keys at random, capacity 10, a buffer of 16 MiB: how much memory this process takes more at its peak, against the buffer's 16 MiB and 50 MB",
)
.to_reach(1.0);

/// A tenth of what the items take, so that the load sends many times.
const BUFFER: usize = 16 << 20;

/// The size of the buffer, and of what may come on top of it, in megabytes.
const BOUND: f64 = BUFFER as f64 / 1e6 + 50.0;

const ITEMS_PER_KEY: usize = 10;

async fn measure(bench: Bench) -> Result<()> {
    let all = bench.pick(1_000_000, 100_000);
    let collection = bench.db.collection::<Document>(&bench.fresh("load"));
    let buckets = Trade::buckets_in(collection).await?;
    let trades = (0..all)
        .map(move |nth| Trade::from(trade(customer_at_random(nth, all / ITEMS_PER_KEY), nth)));
    // The second call tells what the process has now.
    let memory = peak_memory().and_then(|_| peak_memory());
    let started = Instant::now();
    let mut progress = vec![(0, 0.0)];
    let load = buckets.append_many(trades).buffer(BUFFER);
    let load = load.on_progress(|stored| progress.push((stored, started.elapsed().as_secs_f64())));
    let stored = load.await.map_err(|error| error.to_string())?;
    assert_eq!(stored, all as u64, "items were stored");
    // The commands are large, so the rates count from one command's end to another's.
    let rate = |from: u64, to: u64| {
        let reached = |items| progress.iter().find(|(stored, _)| *stored >= items);
        match (reached(from), reached(to)) {
            (Some((items, at)), Some((more, later))) => (more - items) as f64 / (later - at),
            _ => f64::NAN,
        }
    };
    // Almost all items of the first fifth open buckets, which is faster than filling them.
    let early = vec![rate(stored / 5, stored / 5 * 2)];
    let late = vec![rate(stored / 5 * 4, stored)];
    bench.report.figure(&LATE_VS_EARLY, &late, &early);
    if let (Some(before), Some(peak)) = (memory, peak_memory()) {
        bench
            .report
            .figure(&MEMORY, &vec![peak - before], &vec![BOUND]);
    }
    Ok(())
}

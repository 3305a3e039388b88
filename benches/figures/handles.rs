//! Many handles on few keys, as many small processes would have them: their appends do not travel together.

use std::time::Instant;

use bucket_benches::{Contestant, Figure, Result, Samples, Unit, in_turn, rate};
use bucket_runtime::{
    Bucket,
    bson::{DateTime, Document},
};
use tokio::task::JoinSet;

use crate::{
    bench::{Bench, Theme},
    trade::{Flat, Trade, trade},
};

pub(crate) const THEME: Theme = Theme {
    name: "handles",
    figures: &[&MANY_VS_SOME],
    measure: |bench| Box::pin(measure(bench)),
};

static MANY_VS_SOME: Figure = Figure::new(
    "append_100_handles_vs_16",
    Unit::ItemsPerSecond,
    "append trades of the moment to three keys by 100 handles with a writer each, against 16 such handles",
)
.to_reach(0.9);

const KEYS: usize = 3;

async fn measure(bench: Bench) -> Result<()> {
    let items = bench.pick(3000, 800);
    let contestants = [100, 16].map(|handles| {
        let bench = bench.clone();
        Contestant::new(move |_| append(bench.clone(), handles, items))
    });
    let [many, some] = &in_turn(bench.pick(5, 3), contestants).await?;
    bench.report.figure(&MANY_VS_SOME, many, some);
    Ok(())
}

/// Appends the items through this many handles, each of which appends one after the other.
async fn append(bench: Bench, handles: usize, items: usize) -> Result<Samples> {
    let collection = bench.db.collection::<Document>(&bench.fresh("handles"));
    let mut opened = Vec::new();
    for _ in 0..handles {
        opened.push(Trade::buckets_in(collection.clone()).await?);
    }
    let trades: Vec<Flat> = (0..items)
        .map(|nth| trade((nth % KEYS) as i64, nth))
        .collect();
    let started = Instant::now();
    let mut writers = JoinSet::new();
    for (nth, buckets) in opened.into_iter().enumerate() {
        let share: Vec<_> = trades.iter().skip(nth).step_by(handles).cloned().collect();
        writers.spawn(async move {
            for trade in share {
                let date = DateTime::now();
                buckets.append(&Trade::from(Flat { date, ..trade })).await?;
            }
            Result::Ok(())
        });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    let samples = rate(items, started);
    collection.drop().await?;
    Ok(samples)
}

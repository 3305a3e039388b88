//! Appends by few and by many writers, to one key and to many: the rate, the slowest calls, and the
//! CPU time of the server for each item.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bucket_benches::{Contestant, Figure, Result, Unit, figures, in_turn, split};
use bucket_runtime::{Bucket, bson::Document};

use crate::{
    batcher::inserts,
    bench::{Bench, Theme},
    cpu::Cpu,
    peers::{self, SPARSE},
    trade::{Flat, Trade, Trade50, customer_at_random, trade},
    writers::for_a_while,
};

pub(crate) const THEME: Theme = Theme {
    name: "curve",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

macro_rules! rows {
    ($static:ident: $unit:expr, $end:literal, $what:literal; $($name:literal $writers:literal)+) => {
        static $static: [Figure; POINTS.len()] = [$(Figure::new(
            concat!("curve_", $name, "_by_", $writers, $end),
            $unit,
            concat!("append to keys: ", $name, ", by writers: ", $writers, ", ", $what),
        )),+];
    };
}

macro_rules! points {
    ($($name:literal $keys:literal $writers:literal;)+) => {
        /// How many keys, and how many writers.
        const POINTS: &[(usize, usize)] = &[$(($keys, $writers)),+];

        rows!(VS_FLAT: Unit::ItemsPerSecond, "_10_vs_flat",
            "capacity 10, against flat inserts in batches"; $($name $writers)+);
        rows!(VS_TS: Unit::ItemsPerSecond, "_10_vs_ts",
            "capacity 10, against inserts in batches into a time series collection"; $($name $writers)+);
        rows!(VS_UNBATCHED: Unit::ItemsPerSecond, "_10_vs_unbatched",
            "capacity 10, against unbatched flat `insert_one`"; $($name $writers)+);
        rows!(FIFTY_VS_FLAT: Unit::ItemsPerSecond, "_50_vs_flat",
            "capacity 50, against flat inserts in batches"; $($name $writers)+);
        rows!(FIFTY_VS_TS: Unit::ItemsPerSecond, "_50_vs_ts",
            "capacity 50, against inserts in batches into a time series collection"; $($name $writers)+);
        rows!(SLOWEST: Unit::Micros, "_10_p99",
            "capacity 10, against flat inserts in batches: the time that 99 % of the calls take at most"; $($name $writers)+);
        rows!(CPU: Unit::Micros, "_10_cpu",
            "capacity 10, against flat inserts in batches: CPU time of the server for each item"; $($name $writers)+);
        rows!(FIFTY_CPU: Unit::Micros, "_50_cpu",
            "capacity 50, against flat inserts in batches: CPU time of the server for each item"; $($name $writers)+);
    };
}

// A random one of so many keys is a new one.
points! {
    "1" 1 1;
    "1" 1 8;
    "1" 1 32;
    "1" 1 128;
    "1000" 1000 1;
    "1000" 1000 8;
    "1000" 1000 32;
    "1000" 1000 128;
    "new" 1_000_000_000_000 8;
    "new" 1_000_000_000_000 32;
}

static FIGURES: [&Figure; 8 * POINTS.len()] = figures(&[
    &VS_FLAT,
    &VS_TS,
    &VS_UNBATCHED,
    &FIFTY_VS_FLAT,
    &FIFTY_VS_TS,
    &SLOWEST,
    &CPU,
    &FIFTY_CPU,
]);

async fn measure(bench: Bench) -> Result<()> {
    for (at, (keys, writers)) in POINTS.iter().copied().enumerate() {
        let of_point: Vec<_> = FIGURES
            .iter()
            .copied()
            .skip(at)
            .step_by(POINTS.len())
            .collect();
        if !bench.wants(&of_point) {
            continue;
        }
        let contestants = [
            ours::<Trade>(&bench, keys, writers).await?,
            ours::<Trade50>(&bench, keys, writers).await?,
            batched(&bench, keys, writers, None).await?,
            batched(&bench, keys, writers, Some(SPARSE)).await?,
            unbatched(&bench, keys, writers).await?,
        ];
        let samples = in_turn(bench.pick(7, 3), contestants).await?;
        let [ten, fifty, flat, ts, unbatched] = &samples.map(|samples| split::<3>(&samples));
        let report = &bench.report;
        report.figure(&VS_FLAT[at], &ten[0], &flat[0]);
        report.figure(&VS_TS[at], &ten[0], &ts[0]);
        report.figure(&VS_UNBATCHED[at], &ten[0], &unbatched[0]);
        report.figure(&FIFTY_VS_FLAT[at], &fifty[0], &flat[0]);
        report.figure(&FIFTY_VS_TS[at], &fifty[0], &ts[0]);
        report.figure(&SLOWEST[at], &ten[1], &flat[1]);
        report.figure(&CPU[at], &ten[2], &flat[2]);
        report.figure(&FIFTY_CPU[at], &fifty[2], &flat[2]);
    }
    Ok(())
}

/// Appends to one collection in all rounds, so that the keys have open buckets.
async fn ours<T: Bucket + From<Flat>>(
    bench: &Bench,
    keys: usize,
    writers: usize,
) -> Result<Contestant> {
    let collection = bench.db.collection::<Document>(&bench.fresh("append"));
    let buckets = T::buckets_in(collection).await?;
    contestant(bench, keys, writers, move |trade: Flat| {
        let buckets = buckets.clone();
        async move { Ok(buckets.append(&trade.into()).await.map(drop)?) }
    })
    .await
}

/// Inserts in batches, into a time series collection if there is a granularity.
async fn batched(
    bench: &Bench,
    keys: usize,
    writers: usize,
    granularity: Option<&str>,
) -> Result<Contestant> {
    let name = bench.fresh("batched");
    let collection = match granularity {
        Some(granularity) => peers::time_series(&bench.db, &name, granularity).await?,
        None => peers::flat(&bench.db, &name).await?,
    };
    let batcher = inserts(&collection);
    contestant(bench, keys, writers, move |trade| {
        let batcher = batcher.clone();
        async move { batcher.put(trade).await }
    })
    .await
}

async fn unbatched(bench: &Bench, keys: usize, writers: usize) -> Result<Contestant> {
    let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    contestant(bench, keys, writers, move |trade: Flat| {
        let flat = flat.clone();
        async move { Ok(flat.insert_one(&trade).await.map(drop)?) }
    })
    .await
}

/// Writers that call again and again for a while, each with the trades of random keys. A round gives items per second,
/// the 99th percentile, and the server's CPU time for each item, in microseconds.
async fn contestant<C>(
    bench: &Bench,
    keys: usize,
    writers: usize,
    call: impl Fn(Flat) -> C + Clone + Send + 'static,
) -> Result<Contestant>
where
    C: Future<Output = Result<()>> + Send + 'static,
{
    let cpu = Cpu::of(bench).await?;
    let duration = Duration::from_millis(bench.pick(1200, 300) as u64);
    let next = Arc::new(AtomicUsize::new(0));
    Ok(Contestant::new(move |_| {
        let (next, call) = (Arc::clone(&next), call.clone());
        async move {
            let (before, started) = (cpu.of_server(), Instant::now());
            let mut times = for_a_while(duration, writers, move |_| {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                call(trade(customer_at_random(nth, keys), nth))
            })
            .await?;
            let (items, elapsed) = (times.len() as f64, started.elapsed().as_secs_f64());
            let cpu = (cpu.of_server() - before) / items * 1e6;
            times.sort_unstable_by(f64::total_cmp);
            let slowest = times.get(times.len() * 99 / 100).copied();
            Ok(vec![items / elapsed, slowest.unwrap_or(f64::NAN), cpu])
        }
    }))
}

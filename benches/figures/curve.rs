//! Appends by few and by many writers, to one key and to many: the rate, the slowest calls, and the
//! CPU time of the server and of this process for each item.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bucket_benches::{Contestant, Figure, Result, Samples, Unit, in_turn};
use bucket_runtime::{Bucket, bson::Document};

use crate::{
    bench::{Bench, Theme},
    cpu::Cpu,
    peers,
    trade::{Flat, Trade, customer_at_random, trade},
    writers::for_a_while,
};

pub(crate) const THEME: Theme = Theme {
    name: "curve",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

macro_rules! points {
    ($($name:literal $keys:literal $writers:literal;)+) => {
        /// How many keys, and how many writers.
        const POINTS: &[(usize, usize)] = &[$(($keys, $writers)),+];

        static RATE: [Figure; POINTS.len()] = [$(
            Figure::new(
                concat!("curve_", $name, "_by_", $writers),
                Unit::ItemsPerSecond,
                concat!("append to keys: ", $name, ", by writers: ", $writers, ", against flat `insert_one`"),
            )
            .to_reach(1.0)
        ),+];
        static SLOWEST: [Figure; POINTS.len()] = [$(
            Figure::new(
                concat!("curve_", $name, "_by_", $writers, "_p99"),
                Unit::Micros,
                "the same, the time that 99 % of the calls take at most",
            )
            .to_reach(1.0)
        ),+];
        static CPU: [Figure; POINTS.len()] = [$(
            Figure::new(
                concat!("curve_", $name, "_by_", $writers, "_cpu"),
                Unit::Micros,
                "the same, CPU time of server and client for each item",
            )
        ),+];
        static FIGURES: [&Figure; 3 * POINTS.len()] = {
            let mut all = [&RATE[0]; 3 * POINTS.len()];
            let mut at = 0;
            while at < POINTS.len() {
                all[3 * at] = &RATE[at];
                all[3 * at + 1] = &SLOWEST[at];
                all[3 * at + 2] = &CPU[at];
                at += 1;
            }
            all
        };
    };
}

// A random one of so many keys is a new one.
points! {
    "1" 1 1;
    "1" 1 8;
    "1" 1 32;
    "1" 1 128;
    "1" 1 512;
    "1000" 1000 1;
    "1000" 1000 8;
    "1000" 1000 32;
    "1000" 1000 128;
    "1000" 1000 512;
    "new" 1_000_000_000_000 1;
    "new" 1_000_000_000_000 8;
    "new" 1_000_000_000_000 32;
    "new" 1_000_000_000_000 128;
    "new" 1_000_000_000_000 512;
}

/// The figures of a contestant for each round: items per second, the 99th percentile in microseconds, and
/// the CPU time for each item in microseconds.
const MEASURES: usize = 3;

async fn measure(bench: Bench) -> Result<()> {
    for (at, (keys, writers)) in POINTS.iter().copied().enumerate() {
        if !bench.wants(&[&RATE[at], &SLOWEST[at], &CPU[at]]) {
            continue;
        }
        let contestants = [
            ours(&bench, keys, writers).await?,
            flat(&bench, keys, writers).await?,
        ];
        let samples = in_turn(bench.pick(7, 3), contestants).await?;
        let [ours, flat] = samples.map(|samples| {
            let measure =
                |nth| Samples::from_iter(samples.iter().skip(nth).step_by(MEASURES).copied());
            [measure(0), measure(1), measure(2)]
        });
        bench.report.figure(&RATE[at], &ours[0], &flat[0]);
        bench.report.figure(&SLOWEST[at], &ours[1], &flat[1]);
        bench.report.figure(&CPU[at], &ours[2], &flat[2]);
    }
    Ok(())
}

/// Appends to one collection in all rounds, so that the keys have open buckets.
async fn ours(bench: &Bench, keys: usize, writers: usize) -> Result<Contestant> {
    let collection = bench.db.collection::<Document>(&bench.fresh("append"));
    let buckets = Trade::buckets_in(collection).await?;
    contestant(bench, keys, writers, move |trade| {
        let buckets = buckets.clone();
        async move { Ok(buckets.append(&trade.into()).await.map(drop)?) }
    })
    .await
}

async fn flat(bench: &Bench, keys: usize, writers: usize) -> Result<Contestant> {
    let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    contestant(bench, keys, writers, move |trade: Flat| {
        let flat = flat.clone();
        async move { Ok(flat.insert_one(&trade).await.map(drop)?) }
    })
    .await
}

/// Writers that call again and again for a while, each with the trades of random keys.
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
    let duration = Duration::from_millis(bench.pick(1500, 300) as u64);
    let next = Arc::new(AtomicUsize::new(0));
    Ok(Contestant::new(move |_| {
        let (next, call) = (Arc::clone(&next), call.clone());
        async move {
            let (before, started) = (cpu.seconds(), Instant::now());
            let mut times = for_a_while(duration, writers, move |_| {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                call(trade(customer_at_random(nth, keys), nth))
            })
            .await?;
            let (items, elapsed) = (times.len() as f64, started.elapsed().as_secs_f64());
            times.sort_unstable_by(f64::total_cmp);
            let slowest = times.get(times.len() * 99 / 100).copied();
            let cpu = (cpu.seconds() - before) / items * 1e6;
            Ok(vec![items / elapsed, slowest.unwrap_or(f64::NAN), cpu])
        }
    }))
}

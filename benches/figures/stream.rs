//! Reading all items of a key.

use std::time::Instant;

use bucket_benches::{
    Bars, Chart, Contestant, Figure, Result, Samples, Unit, figures, in_turn, rate,
};
use bucket_runtime::{Bucket, Buckets, bson::doc, mongodb::Collection};
use futures_util::TryStreamExt as _;

use crate::{
    bench::{Bench, Theme, at_capacities},
    cpu::Cpu,
    peers,
    trade::{ByHand, Flat, Quantity, Trade, Trade50, Trade1000, by_hand, of_keys},
};

pub(crate) const THEME: Theme = Theme {
    name: "stream",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

at_capacities!(VS_FLAT: Unit::ItemsPerSecond,
    "stream_" - "_vs_flat",
    "all 10,000 items of a key, " - ", against a typed find in a flat indexed collection",
    to reach 4.0 4.0 4.0);
at_capacities!(VS_TS: Unit::ItemsPerSecond,
    "stream_" - "_vs_ts",
    "all 10,000 items of a key, " - ", against a time series collection with the same index",
    to reach 3.0 3.0 3.0);
static VS_RAW: [Figure; 2] = [
    Figure::new(
        "stream_1000_vs_raw",
        Unit::ItemsPerSecond,
        "all 10,000 items of a key, capacity 1,000, against the same buckets read by hand with typed structs",
    )
    .to_reach(0.9),
    Figure::new(
        "stream_1000_cpu_vs_raw",
        Unit::Micros,
        "all 10,000 items of a key, capacity 1,000, against the same buckets by hand: CPU time of server and client for each item",
    )
    .to_reach(0.8),
];
static FIGURES: [&Figure; 8] = figures(&[&VS_FLAT, &VS_TS, &VS_RAW]);

/// The keys are interleaved in the collections, as in practice.
const KEYS: usize = 20;
const ITEMS: usize = 10_000;

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_keys(KEYS * ITEMS, KEYS, 60);
    let ten = by_hand(&trades, 10);
    let ten = bench.holding::<Trade>("stream", &ten).await?;
    let fifty = by_hand(&trades, 50);
    let fifty = bench.holding::<Trade50>("stream", &fifty).await?;
    let thousand = by_hand(&trades, 1000);
    let ours = bench.holding::<Trade1000>("stream", &thousand).await?;
    let raw = ours.collection().clone_with_type::<ByHand>();
    let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    flat.insert_many(&trades).await?;
    let [seconds, minutes, hours] = peers::GRANULARITIES.map(|granularity| {
        let (bench, trades) = (&bench, &trades);
        async move {
            let name = bench.fresh("series");
            let series = peers::time_series(&bench.db, &name, granularity).await?;
            series.insert_many(trades).await?;
            series.create_index(peers::by_customer_and_date()).await?;
            Result::Ok(series)
        }
    });
    let (seconds, minutes, hours) = (seconds.await?, minutes.await?, hours.await?);

    if bench.wants(&[&VS_RAW[1]]) {
        let cpu = Cpu::of(&bench).await?;
        let (ours, raw) = (ours.clone(), raw.clone());
        let contestants = [
            cpu_per_item(cpu, move |key| items(ours.clone(), key)),
            cpu_per_item(cpu, move |key| buckets(raw.clone(), key)),
        ];
        let [ours, raw] = in_turn(bench.pick(9, 3), contestants).await?;
        bench.report.figure(&VS_RAW[1], &ours, &raw);
    }
    let contestants = [
        Contestant::new(move |round| items(ten.clone(), key(round))),
        Contestant::new(move |round| items(fifty.clone(), key(round))),
        Contestant::new(move |round| items(ours.clone(), key(round))),
        Contestant::new(move |round| buckets(raw.clone(), key(round))),
        Contestant::new(move |round| documents(flat.clone(), key(round))),
        Contestant::new(move |round| documents(seconds.clone(), key(round))),
        Contestant::new(move |round| documents(minutes.clone(), key(round))),
        Contestant::new(move |round| documents(hours.clone(), key(round))),
    ];
    let samples = in_turn(bench.pick(60, 15), contestants).await?;
    let (all_ours, peers) = samples.split_at(3);
    let [raw, flat, series @ ..] = peers else {
        return Err("another number of peers".into());
    };
    let series: &[Samples; 3] = series.try_into()?;
    let report = &bench.report;
    let unit = Unit::ItemsPerSecond;
    let ts = &series[report.best_of("time series", unit, peers::GRANULARITIES, series)];
    for (nth, ours) in all_ours.iter().enumerate() {
        report.figure(&VS_FLAT[nth], ours, flat);
        report.figure(&VS_TS[nth], ours, ts);
    }
    report.figure(&VS_RAW[0], &all_ours[2], raw);
    let bars = Bars::new("Reading all items of a key", unit).group(
        "10,000 items, typed",
        [
            ("items, capacity 10", &all_ours[0]),
            ("items, capacity 50", &all_ours[1]),
            ("items, capacity 1,000", &all_ours[2]),
            ("buckets by hand, 1,000", raw),
            ("flat find", flat),
            ("time series find", ts),
        ],
    );
    report.chart("stream", Chart::Bars(bars));
    Ok(())
}

/// Reads all keys several times for one sample, since the system counts CPU time in hundredths of a second.
fn cpu_per_item<R>(cpu: Cpu, read: impl Fn(i64) -> R + Clone + Send + 'static) -> Contestant
where
    R: Future<Output = Result<Samples>> + Send + 'static,
{
    const TIMES: usize = 5;
    Contestant::new(move |_| {
        let reads = (0..TIMES * KEYS).map(key).map(read.clone());
        async move {
            let before = cpu.seconds();
            for read in reads {
                read.await?;
            }
            let items = (TIMES * KEYS * ITEMS) as f64;
            Ok(vec![(cpu.seconds() - before) / items * 1e6])
        }
    })
}

fn key(round: usize) -> i64 {
    (round % KEYS) as i64
}

async fn items<T>(trades: Buckets<T>, key: i64) -> Result<Samples>
where
    T: Bucket<Key = (i64,)> + Quantity,
{
    let started = Instant::now();
    let mut items = trades.items(&key).await?;
    let (mut read, mut sum) = (0, 0);
    while let Some(trade) = items.try_next().await? {
        read += 1;
        sum += i64::from(trade.quantity());
    }
    let samples = rate(read, started);
    check(read, sum)?;
    Ok(samples)
}

async fn buckets(buckets: Collection<ByHand>, key: i64) -> Result<Samples> {
    let started = Instant::now();
    let range = doc! { "_id": { "$gte": format!("{key}_"), "$lt": format!("{key}`") } };
    let mut cursor = buckets.find(range).sort(doc! { "_id": 1 }).await?;
    let (mut read, mut sum) = (0, 0);
    while cursor.advance().await? {
        for trade in cursor.deserialize_current()?.history {
            read += 1;
            sum += i64::from(trade.quantity);
        }
    }
    let samples = rate(read, started);
    check(read, sum)?;
    Ok(samples)
}

async fn documents(trades: Collection<Flat>, key: i64) -> Result<Samples> {
    let started = Instant::now();
    let of_key = doc! { "customerId": key };
    let mut cursor = trades.find(of_key).sort(doc! { "date": 1 }).await?;
    let (mut read, mut sum) = (0, 0);
    while cursor.advance().await? {
        read += 1;
        sum += i64::from(cursor.deserialize_current()?.quantity);
    }
    let samples = rate(read, started);
    check(read, sum)?;
    Ok(samples)
}

/// The customers are random, so each has about the same number of trades. The sum shows that the
/// items were read.
fn check(read: usize, sum: i64) -> Result<()> {
    if read.abs_diff(ITEMS) < ITEMS / 10 && sum > 0 {
        Ok(())
    } else {
        Err(format!("{read} items were read").into())
    }
}

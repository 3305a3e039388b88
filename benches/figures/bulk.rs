//! Very many items at once.

use std::time::Instant;

use bucket_benches::{Bars, Chart, Figure, Result, Samples, Unit, figures, in_turn, rate};
use bucket_runtime::{Bucket, bson::Document, mongodb::Collection};
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::task::JoinSet;

use crate::{
    bench::{Bench, Theme, at_capacities},
    peers,
    trade::{ByHand, Flat, Numbered, Trade, Trade50, Trade1000, by_hand, of_keys},
    writers::writes,
};

pub(crate) const THEME: Theme = Theme {
    name: "bulk",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

at_capacities!(VS_FLAT: UNIT,
    "bulk_" - "_vs_flat",
    "`append_many` of 200,000 items of 1,000 keys at random, " - ", against four unordered `insert_many` at once into a flat indexed collection",
    to reach 3.0 5.0 6.0);
at_capacities!(VS_ONE: UNIT,
    "bulk_" - "_vs_flat_by_one",
    "`append_many` of 200,000 items of 1,000 keys at random, " - ", against one ordered `insert_many` into a flat indexed collection");
at_capacities!(VS_TS: UNIT,
    "bulk_" - "_vs_ts",
    "`append_many` of 200,000 items of 1,000 keys at random, " - ", against four unordered `insert_many` at once into a time series collection",
    to reach 4.0 5.0 6.0);
at_capacities!(VS_BULK_WRITE: UNIT,
    "bulk_" - "_vs_bulk_write",
    "`append_many` of 200,000 items of 1,000 keys at random, " - ", against `Client::bulk_write` of flat inserts, unordered");
at_capacities!(VS_LIMIT: UNIT,
    "bulk_" - "_vs_limit",
    "`append_many` of 200,000 items of 1,000 keys at random, " - ", against `insert_many` of complete buckets built beforehand",
    to reach 0.7 0.7 0.8);
static KEYS: [Figure; 2] = [
    rate_of(
        "bulk_keys_10_vs_flat",
        "`append_many` of 100,000 items of as many new keys, ids with `{#}`, capacity 10, against four unordered `insert_many` at once into a flat indexed collection",
    ),
    rate_of(
        "bulk_keys_10_vs_limit",
        "`append_many` of 100,000 items of as many new keys, ids with `{#}`, capacity 10, against `insert_many` of buckets built beforehand, one for each item",
    ),
];
static FIGURES: [&Figure; 17] =
    figures(&[&VS_FLAT, &VS_ONE, &VS_TS, &VS_BULK_WRITE, &VS_LIMIT, &KEYS]);

const UNIT: Unit = Unit::ItemsPerSecond;

const fn rate_of(name: &'static str, what: &'static str) -> Figure {
    Figure::new(name, UNIT, what)
}

/// The number of items of a key.
const OF_A_KEY: usize = 200;

/// The length of a year in seconds: the customers trade every other day, as in the manual.
const A_YEAR: usize = 365 * 24 * 60 * 60;

async fn measure(bench: Bench) -> Result<()> {
    let keys = bench.pick(1000, 250);
    let trades = of_keys(OF_A_KEY * keys, keys, A_YEAR / (OF_A_KEY * keys));
    let series = best_series(&bench, &trades).await?;
    let contestants = [
        writes(&bench, &trades, ours::<Trade>),
        writes(&bench, &trades, ours::<Trade50>),
        writes(&bench, &trades, ours::<Trade1000>),
        writes(&bench, &trades, |bench, trades| limit(bench, trades, 10)),
        writes(&bench, &trades, |bench, trades| limit(bench, trades, 50)),
        writes(&bench, &trades, |bench, trades| limit(bench, trades, 1000)),
        writes(&bench, &trades, flat_by_four),
        writes(&bench, &trades, flat_by_one),
        writes(&bench, &trades, series),
        writes(&bench, &trades, bulk_write),
    ];
    let samples = in_turn(bench.pick(9, 3), contestants).await?;
    let (all_ours, peers) = samples.split_at(3);
    let [limit_10, limit_50, limit_1000, flat, by_one, ts, bulk_write] = peers else {
        return Err("another number of peers".into());
    };
    let report = &bench.report;
    if bulk_write.is_empty() {
        println!("  without `Client::bulk_write`: servers have it since 8.0");
    }
    for (nth, ours) in all_ours.iter().enumerate() {
        report.figure(&VS_FLAT[nth], ours, flat);
        report.figure(&VS_ONE[nth], ours, by_one);
        report.figure(&VS_TS[nth], ours, ts);
        if !bulk_write.is_empty() {
            report.figure(&VS_BULK_WRITE[nth], ours, bulk_write);
        }
        report.figure(&VS_LIMIT[nth], ours, [limit_10, limit_50, limit_1000][nth]);
    }
    let mut bars = Bars::new("Storing 200,000 items of 1,000 keys", UNIT);
    let of_capacities = [
        ("capacity 10", limit_10),
        ("capacity 50", limit_50),
        ("capacity 1,000", limit_1000),
    ];
    for ((label, limit), ours) in of_capacities.into_iter().zip(all_ours) {
        let limit = ("complete buckets, by hand", limit);
        bars = bars.group(label, [("append_many", ours), limit]);
    }
    let peers = [
        ("flat, four at once", flat),
        ("time series, four at once", ts),
    ];
    report.chart("bulk", Chart::Bars(bars.group("peers", peers)));
    of_new_keys(&bench).await
}

/// One item of each key: each key's last number is unknown.
async fn of_new_keys(bench: &Bench) -> Result<()> {
    let keys = bench.pick(100_000, 20_000);
    let trades = of_keys(keys, keys, 1);
    let contestants = [
        writes(bench, &trades, ours::<Numbered>),
        writes(bench, &trades, flat_by_four),
        writes(bench, &trades, |bench, trades| limit(bench, trades, 10)),
    ];
    let samples = in_turn(bench.pick(7, 3), contestants).await?;
    let [ours, flat, limit] = &samples;
    bench.report.figure(&KEYS[0], ours, flat);
    bench.report.figure(&KEYS[1], ours, limit);
    Ok(())
}

/// The time series collection with the best granularity for these trades. The other granularities
/// may be so much slower that only a tenth of the trades is used to compare them.
async fn best_series(
    bench: &Bench,
    trades: &[Flat],
) -> Result<impl Fn(Bench, Vec<Flat>) -> BoxFuture<'static, Result<Samples>> + Send + 'static> {
    let some = &trades[..trades.len() / 10];
    let mut rates = [const { Samples::new() }; 3];
    for (granularity, rates) in peers::GRANULARITIES.into_iter().zip(&mut rates) {
        *rates = time_series(bench.clone(), some.to_vec(), granularity).await?;
    }
    let what = "time series, a tenth of the items";
    let best = (bench.report).best_of(what, UNIT, peers::GRANULARITIES, &rates);
    let granularity = peers::GRANULARITIES[best];
    Ok(move |bench, trades| time_series(bench, trades, granularity).boxed())
}

async fn ours<T: Bucket + From<Flat>>(bench: Bench, trades: Vec<Flat>) -> Result<Samples> {
    let collection = bench.db.collection::<Document>(&bench.fresh("bulk"));
    let buckets = T::buckets_in(collection.clone()).await?;
    let items: Vec<T> = trades.into_iter().map(T::from).collect();
    let all = items.len();
    let started = Instant::now();
    let stored = buckets.append_many(items).await;
    let rate = rate(all, started);
    let stored = stored.map_err(|error| error.to_string())?;
    assert_eq!(stored, all as u64, "items were stored");
    collection.drop().await?;
    Ok(rate)
}

/// Only sends finished buckets, to a collection with our index.
async fn limit(bench: Bench, trades: Vec<Flat>, capacity: usize) -> Result<Samples> {
    let collection = bench.db.collection::<ByHand>(&bench.fresh("limit"));
    match capacity {
        10 => drop(Trade::buckets_in(collection.clone()).await?),
        50 => drop(Trade50::buckets_in(collection.clone()).await?),
        _ => drop(Trade1000::buckets_in(collection.clone()).await?),
    }
    let buckets = by_hand(&trades, capacity);
    let started = Instant::now();
    collection.insert_many(&buckets).await?;
    let rate = rate(trades.len(), started);
    collection.drop().await?;
    Ok(rate)
}

async fn flat_by_one(bench: Bench, trades: Vec<Flat>) -> Result<Samples> {
    let collection = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    let started = Instant::now();
    collection.insert_many(&trades).await?;
    let rate = rate(trades.len(), started);
    collection.drop().await?;
    Ok(rate)
}

async fn flat_by_four(bench: Bench, trades: Vec<Flat>) -> Result<Samples> {
    by_four(peers::flat(&bench.db, &bench.fresh("flat")).await?, trades).await
}

async fn time_series(
    bench: Bench,
    trades: Vec<Flat>,
    granularity: &'static str,
) -> Result<Samples> {
    let name = bench.fresh("series");
    by_four(
        peers::time_series(&bench.db, &name, granularity).await?,
        trades,
    )
    .await
}

/// A peer that knows that its items may be stored in any order.
async fn by_four(collection: Collection<Flat>, mut trades: Vec<Flat>) -> Result<Samples> {
    let all = trades.len();
    let mut parts = Vec::new();
    while !trades.is_empty() {
        parts.push(trades.split_off(trades.len().saturating_sub(all.div_ceil(4))));
    }
    let started = Instant::now();
    let mut writers = JoinSet::new();
    // The first part is the last one that was split off.
    for part in parts.into_iter().rev() {
        let collection = collection.clone();
        writers.spawn(async move { collection.insert_many(&part).ordered(false).await });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    let rate = rate(all, started);
    collection.drop().await?;
    Ok(rate)
}

/// The driver's call for any statements of any collections; no samples from a server that does not have it.
async fn bulk_write(bench: Bench, trades: Vec<Flat>) -> Result<Samples> {
    let version = bench.environment().await?.server;
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    if major.unwrap_or(0) < 8 {
        return Ok(Samples::new());
    }
    let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    let started = Instant::now();
    let models = trades.iter().map(|trade| flat.insert_one_model(trade));
    let models: Vec<_> = models.collect::<std::result::Result<_, _>>()?;
    bench.db.client().bulk_write(models).ordered(false).await?;
    let rate = rate(trades.len(), started);
    flat.drop().await?;
    Ok(rate)
}

//! Very many items at once.

use std::time::Instant;

use bucket_benches::{Bars, Chart, Figure, Result, Samples, Unit, in_turn, rate};
use bucket_runtime::{Bucket, bson::Document};
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::task::JoinSet;

use crate::{
    bench::{Bench, Theme},
    peers,
    trade::{ByHand, Flat, Numbered, Trade, Trade1000, by_hand, of_keys},
    writers::writes,
};

pub(crate) const THEME: Theme = Theme {
    name: "bulk",
    figures: &[
        &LARGE_VS_TS,
        &LARGE_VS_FLAT,
        &LARGE_VS_LIMIT,
        &SMALL_VS_TS,
        &SMALL_VS_FLAT,
        &SMALL_VS_LIMIT,
        &LARGE_VS_FOUR,
        &SMALL_VS_FOUR,
        &KEYS_VS_FLAT,
        &KEYS_VS_LIMIT,
    ],
    measure: |bench| Box::pin(measure(bench)),
};

static LARGE_VS_TS: Figure = rate_of(
    "bulk1000_vs_ts",
    "`append_many` of 200,000 items of 1,000 keys at random, capacity 1,000, against `insert_many` into a time series collection",
)
.to_reach(8.0);
static LARGE_VS_FLAT: Figure = rate_of(
    "bulk1000_vs_flat",
    "the same, against `insert_many` into a flat indexed collection",
)
.to_reach(6.0);
static LARGE_VS_LIMIT: Figure = rate_of(
    "bulk1000_vs_limit",
    "the same, against `insert_many` of complete buckets built beforehand",
)
.to_reach(0.8);
static SMALL_VS_TS: Figure = rate_of(
    "bulk10_vs_ts",
    "`append_many` as above, capacity 10, against `insert_many` into a time series collection",
)
.to_reach(5.0);
static SMALL_VS_FLAT: Figure = rate_of(
    "bulk10_vs_flat",
    "the same, against `insert_many` into a flat indexed collection",
)
.to_reach(3.0);
static SMALL_VS_LIMIT: Figure = rate_of(
    "bulk10_vs_limit",
    "the same, against `insert_many` of complete buckets built beforehand",
)
.to_reach(0.7);
static LARGE_VS_FOUR: Figure = rate_of(
    "bulk1000_vs_flat_by_four",
    "`append_many` as above, capacity 1,000, against four unordered flat `insert_many` at once",
);
static SMALL_VS_FOUR: Figure = rate_of(
    "bulk10_vs_flat_by_four",
    "`append_many` as above, capacity 10, against four unordered flat `insert_many` at once",
);

static KEYS_VS_FLAT: Figure = rate_of(
    "bulk_keys_vs_flat",
    "`append_many` of 100,000 items of as many new keys, ids with `{#}`, capacity 10, against `insert_many` into a flat indexed collection",
);
static KEYS_VS_LIMIT: Figure = rate_of(
    "bulk_keys_vs_limit",
    "the same, against `insert_many` of buckets built beforehand, one for each item",
);

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
        writes(&bench, &trades, ours::<Trade1000>),
        writes(&bench, &trades, |bench, trades| limit(bench, trades, 1000)),
        writes(&bench, &trades, ours::<Trade>),
        writes(&bench, &trades, |bench, trades| limit(bench, trades, 10)),
        writes(&bench, &trades, flat),
        writes(&bench, &trades, flat_by_four),
        writes(&bench, &trades, series),
    ];
    let samples = in_turn(bench.pick(7, 3), contestants).await?;
    let [large, limit_large, small, limit_small, flat, four, ts] = &samples;
    let report = &bench.report;
    report.figure(&LARGE_VS_TS, large, ts);
    report.figure(&LARGE_VS_FLAT, large, flat);
    report.figure(&LARGE_VS_LIMIT, large, limit_large);
    report.figure(&SMALL_VS_TS, small, ts);
    report.figure(&SMALL_VS_FLAT, small, flat);
    report.figure(&SMALL_VS_LIMIT, small, limit_small);
    report.figure(&LARGE_VS_FOUR, large, four);
    report.figure(&SMALL_VS_FOUR, small, four);
    let bars = Bars::new("Storing 200,000 items of 1,000 keys", UNIT)
        .group(
            "capacity 1,000",
            [
                ("append_many", large),
                ("complete buckets, by hand", limit_large),
                ("flat insert_many", flat),
                ("time series insert_many", ts),
            ],
        )
        .group(
            "capacity 10",
            [
                ("append_many", small),
                ("complete buckets, by hand", limit_small),
            ],
        );
    report.chart("bulk", Chart::Bars(bars));
    of_new_keys(&bench).await
}

/// One item of each key: each key's last number is unknown.
async fn of_new_keys(bench: &Bench) -> Result<()> {
    let keys = bench.pick(100_000, 20_000);
    let trades = of_keys(keys, keys, 1);
    let contestants = [
        writes(bench, &trades, ours::<Numbered>),
        writes(bench, &trades, flat),
        writes(bench, &trades, |bench, trades| limit(bench, trades, 10)),
    ];
    let samples = in_turn(bench.pick(7, 3), contestants).await?;
    let [ours, flat, limit] = &samples;
    bench.report.figure(&KEYS_VS_FLAT, ours, flat);
    bench.report.figure(&KEYS_VS_LIMIT, ours, limit);
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
        _ => drop(Trade1000::buckets_in(collection.clone()).await?),
    }
    let buckets = by_hand(&trades, capacity);
    let started = Instant::now();
    collection.insert_many(&buckets).await?;
    let rate = rate(trades.len(), started);
    collection.drop().await?;
    Ok(rate)
}

async fn flat(bench: Bench, trades: Vec<Flat>) -> Result<Samples> {
    let collection = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    let started = Instant::now();
    collection.insert_many(&trades).await?;
    let rate = rate(trades.len(), started);
    collection.drop().await?;
    Ok(rate)
}

/// A peer that knows that its items may be stored in any order.
async fn flat_by_four(bench: Bench, trades: Vec<Flat>) -> Result<Samples> {
    let collection = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    let all = trades.len();
    let mut parts: Vec<Vec<Flat>> = trades.chunks(all.div_ceil(4)).map(<[_]>::to_vec).collect();
    let started = Instant::now();
    let mut writers = JoinSet::new();
    for part in parts.drain(..) {
        let flat = collection.clone();
        writers.spawn(async move { flat.insert_many(&part).ordered(false).await });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    let rate = rate(all, started);
    collection.drop().await?;
    Ok(rate)
}

async fn time_series(
    bench: Bench,
    trades: Vec<Flat>,
    granularity: &'static str,
) -> Result<Samples> {
    let name = bench.fresh("series");
    let collection = peers::time_series(&bench.db, &name, granularity).await?;
    let started = Instant::now();
    collection.insert_many(&trades).await?;
    let rate = rate(trades.len(), started);
    collection.drop().await?;
    Ok(rate)
}

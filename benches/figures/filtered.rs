//! Reading a hundredth of a key's items, which no index of ours finds.

use bucket_benches::{Contestant, Figure, Result, Unit, in_turn};
use bucket_runtime::{
    Bucket, Buckets,
    bson::doc,
    mongodb::{Collection, IndexModel},
};
use futures_util::TryStreamExt as _;

use crate::{
    bench::{Bench, Theme},
    peers,
    trade::{Flat, Trade1000, by_hand, of_keys},
};

pub(crate) const THEME: Theme = Theme {
    name: "filtered",
    figures: &[&VS_INDEXED, &VS_FLAT],
    measure: |bench| Box::pin(measure(bench)),
};

static VS_INDEXED: Figure = Figure::new(
    "filtered_vs_indexed",
    Unit::Micros,
    "100 of a key's 10,000 items by a field, capacity 1,000, no index for the field, against a typed find in a flat collection with an index on key and field",
)
.to_reach(2.0);
static VS_FLAT: Figure = Figure::new(
    "filtered_vs_flat",
    Unit::Micros,
    "100 of a key's 10,000 items by a field, capacity 1,000, no index for the field, against a flat collection with an index on key and time",
)
.to_reach(0.33);

const KEYS: usize = 20;
const ITEMS: usize = 10_000;

/// Quantities are 1 to 1,024 at random.
const SMALL: i32 = 10;

/// The number of a contestant's calls in a round.
const CALLS: usize = 10;

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_keys(KEYS * ITEMS, KEYS, 60);
    let buckets = by_hand(&trades, 1000);
    let ours = bench.holding::<Trade1000>("filtered", &buckets).await?;
    let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    flat.insert_many(&trades).await?;
    let indexed = bench.db.collection(&bench.fresh("indexed"));
    let by_quantity = doc! { "customerId": 1, "qty": 1, "date": 1 };
    let index = IndexModel::builder().keys(by_quantity).build();
    indexed.create_index(index).await?;
    indexed.insert_many(&trades).await?;
    let keys = |round| {
        let calls = round * CALLS..(round + 1) * CALLS;
        Vec::from_iter(calls.map(|nth| (nth % KEYS) as i64))
    };
    let contestants = [
        Contestant::calls(1, keys, move |key| items(ours.clone(), key)),
        Contestant::calls(1, keys, move |key| documents(indexed.clone(), key)),
        Contestant::calls(1, keys, move |key| documents(flat.clone(), key)),
    ];
    let [ours, indexed, flat] = in_turn(bench.pick(20, 5), contestants).await?;
    bench.report.figure(&VS_INDEXED, &ours, &indexed);
    bench.report.figure(&VS_FLAT, &ours, &flat);
    Ok(())
}

async fn items(trades: Buckets<Trade1000>, key: i64) -> Result<()> {
    let small = Trade1000::FIELDS.quantity.lte(SMALL);
    let items: Vec<_> = trades
        .items(&key)
        .filter(small)
        .await?
        .try_collect()
        .await?;
    check(items.len())
}

async fn documents(trades: Collection<Flat>, key: i64) -> Result<()> {
    let small = doc! { "customerId": key, "qty": { "$lte": SMALL } };
    let found: Vec<_> = trades.find(small).await?.try_collect().await?;
    check(found.len())
}

/// About 98 on average.
fn check(read: usize) -> Result<()> {
    match read {
        60..140 => Ok(()),
        _ => Err(format!("{read} items were read").into()),
    }
}

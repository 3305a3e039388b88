//! Old items of one key: removed, and brought back from an archive.

use std::time::Instant;

use bucket_benches::{Contestant, Figure, Result, Samples, Unit, in_turn, rate};
use bucket_ops::Ops;
use bucket_runtime::{
    Bucket, Buckets,
    bson::{DateTime, doc},
    mongodb::{Collection, IndexModel},
};
use futures_util::{TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};

use crate::bench::{Bench, Theme};

pub(crate) const THEME: Theme = Theme {
    name: "archive",
    figures: &[&RETIRE, &IMPORT],
    measure: |bench| Box::pin(measure(bench)),
};

static RETIRE: Figure = Figure::new(
    "retire_vs_flat",
    Unit::ItemsPerSecond,
    "the older half of a key's 12,000 items, 60 in each hourly window, removed by `remove_items`, against `delete_many` in a flat collection with an index on key and time",
);
static IMPORT: Figure = Figure::new(
    "import_vs_flat",
    Unit::ItemsPerSecond,
    "the 12,000 items by `import` of exported lines, against `insert_many` into the flat collection",
);

const HOURS: i64 = 200;
const ITEMS: i64 = HOURS * 60;

#[derive(Debug, Clone, Serialize, Deserialize, Bucket)]
#[bucket(collection = "readings", id = "{sensor}_{at/1h}", capacity = 60)]
struct Reading {
    sensor: i64,
    at: DateTime,
    celsius: f64,
}

fn readings() -> impl Iterator<Item = Reading> {
    (0..ITEMS).map(|minute| Reading {
        sensor: 1,
        at: at(minute),
        celsius: minute as f64 / 8.0,
    })
}

fn at(minute: i64) -> DateTime {
    DateTime::from_millis(1_698_336_000_000 + minute * 60_000)
}

async fn measure(bench: Bench) -> Result<()> {
    let collection = bench.db.collection::<Reading>(&bench.fresh("readings"));
    let ours = Reading::buckets_in(collection).await?;
    ours.append_many(readings()).await?;
    let ops = Ops::<Reading>::in_collection(ours.collection().clone());
    let lines: Vec<String> = ops.export_all().await?.try_collect().await?;
    let flat = bench.db.collection::<Reading>(&bench.fresh("flat"));
    let index = IndexModel::builder().keys(doc! { "sensor": 1, "at": 1 });
    flat.create_index(index.build()).await?;

    let (target, theirs) = (ours.clone(), flat.clone());
    let contestants = [
        Contestant::new(move |_| import(target.clone(), lines.clone())),
        Contestant::new(move |_| insert(theirs.clone())),
    ];
    let [import, insert] = in_turn(bench.pick(40, 5), contestants).await?;
    bench.report.figure(&IMPORT, &import, &insert);
    let contestants = [
        Contestant::new(move |_| retire(ours.clone())),
        Contestant::new(move |_| delete(flat.clone())),
    ];
    let [retire, delete] = in_turn(bench.pick(40, 5), contestants).await?;
    bench.report.figure(&RETIRE, &retire, &delete);
    Ok(())
}

async fn import(ours: Buckets<Reading>, lines: Vec<String>) -> Result<Samples> {
    ours.collection().delete_many(doc! {}).await?;
    let started = Instant::now();
    let lines = stream::iter(lines.into_iter().map(Ok::<_, std::io::Error>));
    let ops = Ops::<Reading>::in_collection(ours.collection().clone());
    let imported = ops.import(lines).await?;
    Ok(rate(imported.items as usize, started))
}

async fn insert(flat: Collection<Reading>) -> Result<Samples> {
    flat.delete_many(doc! {}).await?;
    let readings: Vec<_> = readings().collect();
    let started = Instant::now();
    let inserted = flat.insert_many(&readings).await?;
    Ok(rate(inserted.inserted_ids.len(), started))
}

async fn retire(ours: Buckets<Reading>) -> Result<Samples> {
    ours.collection().delete_many(doc! {}).await?;
    ours.append_many(readings()).await?;
    let started = Instant::now();
    let old = Reading::FIELDS.at.lt(at(ITEMS / 2));
    let removed = ours.remove_items(&1, old).await?;
    half(removed, started)
}

async fn delete(flat: Collection<Reading>) -> Result<Samples> {
    flat.delete_many(doc! {}).await?;
    flat.insert_many(readings()).await?;
    let started = Instant::now();
    let old = doc! { "sensor": 1_i64, "at": { "$lt": at(ITEMS / 2) } };
    let deleted = flat.delete_many(old).await?;
    half(deleted.deleted_count, started)
}

fn half(removed: u64, started: Instant) -> Result<Samples> {
    match removed as i64 == ITEMS / 2 {
        true => Ok(rate(removed as usize, started)),
        false => Err(format!("{removed} items were removed").into()),
    }
}

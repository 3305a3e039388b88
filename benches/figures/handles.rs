//! Many handles on few keys, as many small processes would have them: their appends do not travel together.

use bucket_benches::{Contestant, Figure, Result, Samples, Unit, in_turn};
use bucket_runtime::{
    Bucket,
    bson::{DateTime, Document},
};

use crate::{
    bench::{Bench, Theme},
    peers,
    trade::{Flat, Trade, trade},
    writers::timed_by,
};

pub(crate) const THEME: Theme = Theme {
    name: "handles",
    figures: &[&MANY_VS_SOME, &BY_HAND],
    measure: |bench| Box::pin(measure(bench)),
};

static MANY_VS_SOME: Figure = Figure::new(
    "append_100_handles_vs_16",
    Unit::ItemsPerSecond,
    "append trades of the moment to three keys by 100 handles with a writer each, capacity 10, against 16 such handles",
)
.to_reach(0.9);

static BY_HAND: Figure = Figure::new(
    "by_hand_100_writers_vs_16",
    Unit::ItemsPerSecond,
    "the same by hand: upserts by writers that know the bucket of each trade beforehand",
);

const KEYS: usize = 3;

async fn measure(bench: Bench) -> Result<()> {
    let items = bench.pick(3000, 800);
    let ours = |handles| {
        let bench = bench.clone();
        Contestant::new(move |_| append(bench.clone(), handles, items))
    };
    let by_hand = |writers| {
        let bench = bench.clone();
        Contestant::new(move |_| push_by_hand(bench.clone(), writers, items))
    };
    let contestants = [ours(100), ours(16), by_hand(100), by_hand(16)];
    let [many, some, by_hand_many, by_hand_some] = &in_turn(bench.pick(5, 3), contestants).await?;
    bench.report.figure(&MANY_VS_SOME, many, some);
    bench.report.figure(&BY_HAND, by_hand_many, by_hand_some);
    Ok(())
}

/// Appends the items through this many handles, each of which appends one after the other.
async fn append(bench: Bench, handles: usize, items: usize) -> Result<Samples> {
    let collection = bench.db.collection::<Document>(&bench.fresh("handles"));
    let mut opened = Vec::new();
    for _ in 0..handles {
        opened.push(Trade::buckets_in(collection.clone()).await?);
    }
    let write = timed_by(handles, Vec::from_iter(0..items), move |nth| {
        let buckets = opened[nth % handles].clone();
        async move {
            let date = DateTime::now();
            let trade = trade((nth % KEYS) as i64, nth);
            let trade = Trade::from(Flat { date, ..trade });
            Ok(buckets.append(&trade).await.map(drop)?)
        }
    });
    let (rate, _) = write.await?;
    collection.drop().await?;
    Ok(vec![rate])
}

/// The same with upserts by writers that know the bucket of each item beforehand, so that no race is lost.
async fn push_by_hand(bench: Bench, writers: usize, items: usize) -> Result<Samples> {
    let collection = bench.db.collection::<Document>(&bench.fresh("handles"));
    let pushed_to = collection.clone();
    let write = timed_by(writers, Vec::from_iter(0..items), move |nth| {
        let collection = pushed_to.clone();
        async move {
            let key = nth % KEYS;
            let id = format!("{key}_{}", nth / KEYS / 10);
            peers::upsert_by_exact_id(&collection, id, trade(key as i64, nth)).await
        }
    });
    let (rate, _) = write.await?;
    collection.drop().await?;
    Ok(vec![rate])
}

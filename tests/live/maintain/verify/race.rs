//! A collection that the manual's upsert filled in a race can be repaired and used.

use std::{collections::BTreeMap, slice};

use bucket_ops::{Ops, Problem, ProblemKind as Kind};
use bucket_runtime::{
    Bucket,
    mongodb::{
        Database,
        bson::{Bson, Document},
    },
};

use crate::{
    maintain::verify::damage::id,
    manual::walk::{NOV_2, Side, Trade, manual_upsert, quantities, trade},
    support::{
        assert_sound,
        database::{Live, documents, number},
        problems::{assert_found, expected},
        tasks::JoinSet,
    },
};

const WRITERS: i32 = 32;
const ITEMS: i32 = 20;

/// Appends items from the first number on, with 32 writers that no index guards.
async fn race(db: &Database, first: i32) {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let trades = db.collection::<Document>("trades");
        writers.spawn(async move {
            let first = first + writer * ITEMS;
            for n in first..first + ITEMS {
                // Each writer has its own seconds, so that no id is taken twice.
                let id = format!("123_{}", 1_698_000_000 + n);
                manual_upsert(&trades, &id, n).await.unwrap();
            }
        });
    }
    writers.join_all().await;
}

fn is_open(bucket: &Document) -> bool {
    number(bucket.get("count")) < 10 && !bucket.contains_key("sealed")
}

async fn open_ids(db: &Database) -> Vec<Bson> {
    let mut buckets = documents(&db.collection::<Document>("trades")).await;
    buckets.retain(is_open);
    Vec::from_iter(buckets.iter().map(id))
}

#[bucket_testkit::test(multi_thread)]
async fn a_collection_of_the_manuals_racing_upserts_is_verified_repaired_and_used(db: Live) {
    // How many buckets a race leaves open is random.
    let mut first = 0;
    while open_ids(&db).await.len() < 2 {
        race(&db, first).await;
        first += WRITERS * ITEMS;
    }
    let open = open_ids(&db).await;
    let error = Trade::buckets(&db).await.unwrap_err();
    assert!(error.is_several_open(), "{error}");

    let problems = Ops::<Trade>::of(&db).verify().await.unwrap().problems;
    let [several, lacking @ ..] = &problems[..] else {
        panic!("several open buckets of one key: {problems:?}")
    };
    let text = format!("has {} open buckets", open.len());
    let expected = expected(Kind::SeveralOpen, open.clone(), "123", text);
    assert_found(slice::from_ref(several), &[expected]);
    assert_eq!(missing(lacking), lacking);
    let done = Ops::<Trade>::of(&db).repair().await.unwrap();
    assert_eq!(done.repaired, BTreeMap::from([(Kind::SeveralOpen, 1)]));
    assert_eq!(done.left, lacking);
    assert_eq!(open_ids(&db).await, open[open.len() - 1..]);

    let trades = Trade::buckets(&db).await.unwrap();
    for n in first..first + 25 {
        let late = trade(123, Side::Buy, "MDB", n, NOV_2);
        trades.append(&late).await.unwrap();
    }
    let mut read = quantities(&trades).await;
    read.sort_unstable();
    assert_eq!(read, Vec::from_iter(0..first + 25));
    assert_sound(&trades).await;
}

/// The missing indexes among these problems.
fn missing(problems: &[Problem]) -> Vec<Problem> {
    let missing = problems.iter();
    let missing = missing.filter(|problem| problem.kind == Kind::MissingIndex);
    missing.cloned().collect()
}

#[bucket_testkit::test(multi_thread)]
async fn repairs_beside_unguarded_writers_lose_nothing_and_end_when_these_do(db: Live) {
    let writers = race(&db, 0);
    let repairs = async {
        for _ in 0..5 {
            let repaired = Ops::<Trade>::of(&db).repair().await;
            // The first writer creates the collection.
            if (repaired.as_ref()).is_err_and(|error| error.is_collection_missing()) {
                continue;
            }
            for problem in repaired.unwrap().left {
                // A writer opened another bucket meanwhile.
                let kinds = [Kind::SeveralOpen, Kind::MissingIndex];
                assert!(kinds.contains(&problem.kind), "{problem}");
            }
        }
    };
    futures_util::future::join(writers, repairs).await;
    let left = Ops::<Trade>::of(&db).repair().await.unwrap().left;
    assert_eq!(missing(&left), left);
    let trades = Trade::buckets(&db).await.unwrap();
    let mut read = quantities(&trades).await;
    read.sort_unstable();
    assert_eq!(read, Vec::from_iter(0..WRITERS * ITEMS));
}

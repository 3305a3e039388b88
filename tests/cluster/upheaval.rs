//! G1 while the whole cluster changes under its writers: the collection gets another shard key, and the
//! servers switch features off and on.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    },
};

use bucket_ops::{Ops, OutlierOps};
use bucket_runtime::{
    Bucket, Buckets, Outlier, Outliers,
    mongodb::{Database, bson::doc, error::ErrorKind},
};
use bucket_testkit::Cluster;
use futures_util::future::join_all;
use tokio::task::JoinSet;

use crate::support::{Book, Timed, sharded_in, stored, timed};

const WRITERS: i64 = 16;
const KEYS: i64 = 40;

/// How many items a call stores at most.
const STEP: i64 = 50;

#[derive(Clone)]
struct Handles {
    combined: Buckets<Timed>,
    alone: Buckets<Timed>,
    books: Outliers<Book>,
}

/// The answers to writers that are not in doubt: by number, for both collections.
#[derive(Default)]
struct Told {
    acknowledged: Vec<i64>,
    refused: Vec<i64>,
}

impl Told {
    fn note(&mut self, n: i64, failed: Option<&bucket_runtime::Error>) {
        match failed {
            None => self.acknowledged.push(n),
            Some(error) if error.is_maybe_stored() => {}
            Some(_) => self.refused.push(n),
        }
    }
}

/// Writes in one of four ways until told to end.
async fn write(way: i64, on: Handles, next: Arc<AtomicI64>, end: Arc<AtomicBool>) -> (i64, Told) {
    let mut told = Told::default();
    while !end.load(Relaxed) {
        let first = next.fetch_add(STEP, Relaxed);
        let items = Vec::from_iter((first..first + STEP).map(|n| timed(n % KEYS, n)));
        match way {
            0 => {
                let appends = items
                    .iter()
                    .map(|item| on.combined.append(item).into_future());
                for (item, result) in items.iter().zip(join_all(appends).await) {
                    told.note(item.n, result.as_ref().err());
                }
            }
            1 => {
                let result = on.alone.append(&items[0]).await;
                told.note(first, result.as_ref().err());
            }
            2 => {
                let mut stored: HashSet<_> = items.iter().map(|item| item.n).collect();
                if let Err(error) = on.alone.append_many(items).await {
                    for failed in error.into_failed() {
                        stored.remove(&failed.item.n);
                        told.note(failed.item.n, Some(&failed.error));
                    }
                }
                told.acknowledged.extend(stored);
            }
            _ => {
                let result = on.books.push(&(first % 4), first).await;
                told.note(first, result.as_ref().err());
            }
        }
    }
    (way, told)
}

/// Gives the collection another shard key and the old one again, and switches features off and on.
async fn upheave(own: &Cluster, db: &Database) {
    let admin = own.database("admin").await.unwrap();
    let timed = format!("{}.timed", db.name());
    // A partial index cannot serve as the shard key's.
    let by_key = doc! { "key": { "k": 1 }, "name": "k_1" };
    let create = doc! { "createIndexes": "timed", "indexes": [by_key] };
    db.run_command(create).await.unwrap();
    for key in [doc! { "k": 1 }, doc! { "k": "hashed" }] {
        let reshard = doc! { "reshardCollection": &timed, "key": key, "numInitialChunks": 2 };
        // While writers open buckets, the server may find two open ones in the copy, and gives up: the
        // collection stays as it is.
        if let Err(error) = admin.run_command(reshard).await {
            let is_refused =
                matches!(&*error.kind, ErrorKind::Command(error) if error.code == 11000);
            assert!(is_refused, "{error}");
        }
    }
    for version in ["8.0", "8.2"] {
        let set = doc! { "setFeatureCompatibilityVersion": version, "confirm": true };
        admin.run_command(set).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn nothing_that_is_stored_is_denied_while_the_cluster_is_resharded_and_changes_its_version() {
    let own = Cluster::builder().mongos(1).start().await.unwrap();
    let config = own.config_server().database("admin").await.unwrap();
    // By default resharding takes five minutes at least, and gives up if it blocks writes for five seconds.
    let (soon, slowly) = (
        "reshardingMinimumOperationDurationMillis",
        "reshardingCriticalSectionTimeoutMillis",
    );
    for (parameter, millis) in [(soon, 0), (slowly, 600_000)] {
        let set = doc! { "setParameter": 1, parameter: millis };
        config.run_command(set).await.unwrap();
    }
    let db = own.database("upheaval").await.unwrap();
    let on = Handles {
        combined: sharded_in(&db).await,
        alone: Timed::buckets(&db).combine(false).await.unwrap(),
        books: Book::outliers(&db).await.unwrap(),
    };
    for id in 0..4 {
        let buyers = Vec::new();
        on.books.insert(&Book { id, buyers }).await.unwrap();
    }

    let (next, end) = (Arc::<AtomicI64>::default(), Arc::<AtomicBool>::default());
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (next, end) = (Arc::clone(&next), Arc::clone(&end));
        writers.spawn(write(writer % 4, on.clone(), next, end));
    }
    upheave(&own, &db).await;
    end.store(true, Relaxed);
    let told = writers.join_all().await;

    let items = stored(&db, "timed", "items").await;
    let mut buyers = stored(&db, "books", "buyers").await;
    buyers.extend(stored(&db, "extra_books", "buyers_extra").await);
    let all = items.len() + buyers.len();
    let stored: HashSet<_> = items.into_iter().chain(buyers).collect();
    assert_eq!(stored.len(), all, "stored twice");
    for (way, told) in told {
        let mut lies = told.refused.iter().filter(|n| stored.contains(n));
        assert_eq!(lies.next(), None, "way {way}: refused, and stored");
        let lost = told.acknowledged.iter().find(|n| !stored.contains(n));
        assert_eq!(lost, None, "way {way}: acknowledged");
    }
    assert_eq!(Ops::<Timed>::of(&db).verify().await.unwrap().problems, []);
    let verified = OutlierOps::<Book>::of(&db).verify().await.unwrap();
    assert_eq!(verified.problems, []);
}

//! The open index, and the validator, while the capacity changes.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket, Result,
    mongodb::{
        Database, IndexModel,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use tokio::task::JoinHandle;

use super::{Numbered10, Numbered25, Timed4, Timed10, Timed25, Trade, is_sound, stored};
use crate::support::{
    database::{Live, Recorded, interrupted},
    fail_points::failing_server,
};

/// The names of the indexes, and whether each is hidden.
pub(super) async fn indexes(db: &Database) -> Vec<(String, bool)> {
    let found = db.collection::<Document>("trades").list_indexes().await;
    let found: Vec<IndexModel> = found.unwrap().try_collect().await.unwrap();
    let all = found.into_iter().map(|index| {
        let options = index.options.unwrap();
        (options.name.unwrap(), options.hidden == Some(true))
    });
    // A hashed index shards the tests' cluster.
    all.filter(|(name, _)| name != "_id_" && !name.ends_with("_hashed"))
        .collect()
}

/// Eleven trades in a collection with a validator.
async fn validated(db: &Database) {
    db.drop().await.unwrap();
    Timed10::create_collection(db).await.unwrap();
    let trades = Timed10::buckets(db).await.unwrap();
    let all = (0..11).map(|n| Timed10::new(1, n));
    trades.append_many(all).await.unwrap();
}

fn change_capacity<T: Bucket>(db: &Database) -> JoinHandle<Result<()>> {
    tokio::spawn(Ops::<T>::of(db).change_capacity().into_future())
}

/// Until the old buckets are sealed no index can be named, and at each moment one guards the collection.
#[bucket_testkit::test(multi_thread)]
async fn g3_an_index_guards_the_collection_at_each_command(db: Live) {
    validated(&db).await;
    let found = Arc::new(Mutex::new(Vec::new()));
    let look = {
        let (db, found) = (db.clone(), Arc::clone(&found));
        move || {
            let (db, found) = (db.clone(), Arc::clone(&found));
            async move {
                let now = indexes(&db).await;
                found.lock().unwrap().push(now);
            }
        }
    };
    let client = interrupted(|_| true, look).await;
    let change = Ops::<Timed25>::of(&client.database(db.name())).change_capacity();
    change.await.unwrap();
    let (old, new) = ("bucket_open".to_owned(), "bucket_open_25".to_owned());
    let mut found = found.lock().unwrap().clone();
    found.dedup();
    let both = vec![(old.clone(), true), (new.clone(), true)];
    let expected = [
        vec![(old.clone(), false)],
        vec![(old, true)],
        both,
        vec![(new.clone(), true)],
        vec![(new, false)],
    ];
    assert_eq!(found, expected);
    is_sound::<Timed25>(&db).await;
}

#[bucket_testkit::test]
async fn a_change_takes_few_round_trips_and_none_takes_one(Recorded(db, record): Recorded) {
    let _ = Timed10::buckets(&db).await.unwrap();
    record.take();
    Ops::<Timed25>::of(&db).change_capacity().await.unwrap();
    let sent = [
        "listIndexes",
        "update",
        "collMod",
        "update",
        "createIndexes",
        "dropIndexes",
        "update",
        "listCollections",
        "collMod",
        "listIndexes",
    ];
    assert_eq!(record.names(), sent);
    Ops::<Timed25>::of(&db).change_capacity().await.unwrap();
    assert_eq!(record.names(), ["listIndexes"]);
}

#[bucket_testkit::test]
async fn the_structs_validator_follows_and_another_one_stays(db: Live) {
    validated(&db).await;
    Ops::<Timed25>::of(&db).change_capacity().await.unwrap();
    Timed25::create_collection(&db).await.unwrap();
    Ops::<Timed4>::of(&db).change_capacity().await.unwrap();
    Timed4::create_collection(&db).await.unwrap();
    is_sound::<Timed4>(&db).await;

    let other = doc! { "count": { "$gte": 0 } };
    let command = doc! { "collMod": "trades", "validator": other };
    db.run_command(command).await.unwrap();
    Ops::<Timed10>::of(&db).change_capacity().await.unwrap();
    let error = Timed10::create_collection(&db).await.unwrap_err();
    assert!(error.is_validator_conflict(), "{error}");
}

#[bucket_testkit::test]
async fn a_second_open_index_goes(db: Live) {
    validated(&db).await;
    Ops::<Timed25>::of(&db).change_capacity().await.unwrap();
    // As a program of capacity 10 creates it.
    let index = Timed10::indexes().remove(0).model;
    let trades = db.collection::<Document>("trades");
    trades.create_index(index).await.unwrap();
    assert!(Timed25::buckets(&db).await.unwrap_err().is_index_missing());
    Ops::<Timed25>::of(&db).change_capacity().await.unwrap();
    assert_eq!(indexes(&db).await, [("bucket_open_25".to_owned(), false)]);
    is_sound::<Timed25>(&db).await;
}

/// Unsealed buckets of a customer, from a writer that the index does not guard.
async fn insert_open(db: &Database, first: i64) {
    let buckets = (first..first + 2).map(|n| {
        let item = |n| doc! { "at": DateTime::from_millis(0), "n": n };
        let items = Vec::from_iter((n * 12..n * 12 + 12).map(item));
        doc! {
            "_id": format!("5_{n:010}"), "customer": 5_i64, "count": 12, "items": items,
            "rollup": { "n": { "count": 12_i64, "sum": n * 144 + 66, "max": n * 12 + 11 } },
        }
    });
    let trades = db.collection::<Document>("trades");
    trades.insert_many(buckets).await.unwrap();
}

/// Without an index, a user's writer has opened several buckets of a customer.
#[bucket_testkit::test]
async fn g3_of_a_collection_that_had_no_index(db: Live) {
    insert_open(&db, 0).await;
    let error = Numbered25::buckets(&db).await.unwrap_err();
    assert!(error.is_several_open(), "{error}");
    Ops::<Numbered25>::of(&db).change_capacity().await.unwrap();
    assert_eq!(stored(&db).await, Vec::from_iter(0..24));
    is_sound::<Numbered25>(&db).await;
}

/// A user's writer opens further buckets just before each of the first indexes is created: they are full for the old
/// index, which does not refuse them.
#[bucket_testkit::test(multi_thread)]
async fn g3_of_duplicates_that_prevent_the_new_index(db: Live) {
    for times in [1, 8, 10] {
        db.drop().await.unwrap();
        let _ = Numbered10::buckets(&db).await.unwrap();
        let created = Arc::new(AtomicI64::new(0));
        let duplicate = {
            let (db, created) = (db.clone(), Arc::clone(&created));
            move || {
                let (db, nth) = (db.clone(), created.fetch_add(1, Ordering::SeqCst));
                async move {
                    if nth < times {
                        insert_open(&db, nth * 2).await;
                    }
                }
            }
        };
        let is_creation = |command: &Document| command.contains_key("createIndexes");
        let client = interrupted(is_creation, duplicate).await;
        let changed = Ops::<Numbered25>::of(&client.database(db.name()))
            .change_capacity()
            .await;
        if times == 10 {
            let error = changed.unwrap_err();
            assert!(error.is_several_open(), "{error}");
            let error = Numbered10::buckets(&db).await.unwrap_err();
            assert!(error.is_index_missing(), "{error}");
            Ops::<Numbered25>::of(&db).change_capacity().await.unwrap();
        } else {
            changed.unwrap();
        }
        assert_eq!(stored(&db).await, Vec::from_iter(0..times * 24), "G1");
        is_sound::<Numbered25>(&db).await;
    }
}

/// Makes the server stop in the middle of each index build, or go on.
async fn builds_stop(db: &Database, stop: bool) {
    let mode = if stop { "alwaysOn" } else { "off" };
    let command = doc! { "configureFailPoint": "hangAfterStartingIndexBuild", "mode": mode };
    let admin = db.client().database("admin");
    admin.run_command(command).await.unwrap();
}

async fn wait_for_index<T>(db: &Database, name: &str, call: &JoinHandle<T>) {
    while indexes(db).await.iter().all(|(found, _)| found != name) {
        assert!(!call.is_finished(), "the call that builds {name} has ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The next call must wait for the index: without it no append would be guarded. Meanwhile the server also refuses to
/// hide an index, and to change the validator.
#[bucket_testkit::test]
async fn an_index_that_is_being_built_is_waited_for() {
    // A `mongos` has no such fail point.
    let Some(server) = failing_server().await else {
        return;
    };
    let db = server.database("recap_building").await.unwrap();

    validated(&db).await;
    builds_stop(&db, true).await;
    let call = change_capacity::<Timed25>(&db);
    wait_for_index(&db, "bucket_open_25", &call).await;
    // The server goes on building.
    call.abort();
    let again = change_capacity::<Timed25>(&db);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!again.is_finished());
    builds_stop(&db, false).await;
    again.await.unwrap().unwrap();
    is_sound::<Timed25>(&db).await;

    // An index of the user's.
    builds_stop(&db, true).await;
    let trades = db.collection::<Document>("trades");
    let index = IndexModel::builder().keys(doc! { "n": 1 }).build();
    let of_the_users = tokio::spawn(async move { trades.create_index(index).await });
    wait_for_index(&db, "n_1", &of_the_users).await;
    let change = change_capacity::<Timed10>(&db);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!change.is_finished());
    builds_stop(&db, false).await;
    change.await.unwrap().unwrap();
    of_the_users.await.unwrap().unwrap();
    Timed10::create_collection(&db).await.unwrap();
    is_sound::<Timed10>(&db).await;
}

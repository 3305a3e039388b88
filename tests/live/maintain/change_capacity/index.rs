//! The open index while the capacity changes: one that is still being built, and a second one.

use std::time::Duration;

use bucket_runtime::{
    Bucket, CapacityProgress, Result,
    mongodb::{
        Database, IndexModel,
        bson::{Document, doc},
        options::IndexOptions,
    },
};
use bucket_testkit::Server;
use tokio::task::JoinHandle;

use crate::{
    maintain::change_capacity::moves::{
        Numbered10, Timed7, Timed10, Timed25, Trade, is_sound, numbers,
    },
    support::database::Live,
};

/// Makes the server stop in the middle of each index build, or go on.
async fn builds_stop(db: &Database, stop: bool) {
    let mode = if stop { "alwaysOn" } else { "off" };
    let command = doc! { "configureFailPoint": "hangAfterStartingIndexBuild", "mode": mode };
    let admin = db.client().database("admin");
    admin.run_command(command).await.unwrap();
}

async fn names(db: &Database) -> Vec<String> {
    let trades = db.collection::<Document>("trades");
    let mut names = trades.list_index_names().await.unwrap();
    // A hashed index shards the tests' cluster.
    names.retain(|name| name != "_id_" && !name.ends_with("_hashed"));
    names
}

/// Ten trades in a collection with a validator.
async fn validated(db: &Database) {
    db.drop().await.unwrap();
    Timed10::create_collection(db).await.unwrap();
    let trades = Timed10::buckets(db).await.unwrap();
    let all = (0..10).map(|n| Timed10::new(1, n));
    trades.append_many(all).await.unwrap();
}

fn change_capacity<T: Bucket>(db: &Database) -> JoinHandle<Result<CapacityProgress>> {
    tokio::spawn(T::change_capacity(db).into_future())
}

/// Drops a call while the server builds its index. The server goes on building.
async fn dropped<T: Bucket>(db: &Database) {
    let call = change_capacity::<T>(db);
    let wanted = format!("bucket_open_{}", T::SPEC.capacity);
    while names(db).await != [wanted.as_str()] {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    call.abort();
}

/// The next call must wait for the index: without it no append would be guarded. Meanwhile the server
/// also refuses to change the validator.
#[bucket_testkit::test]
async fn an_index_that_is_being_built_is_waited_for() {
    let options = ["--setParameter", "enableTestCommands=1"];
    let server = Server::start_with(&options).await.unwrap();
    // A `mongos` has no such fail point.
    if !server.is_throw_away() || server.cluster().is_some() {
        return;
    }
    let db = server.database("recap_building").await.unwrap();

    validated(&db).await;
    builds_stop(&db, true).await;
    dropped::<Timed25>(&db).await;
    let again = change_capacity::<Timed25>(&db);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!again.is_finished());
    builds_stop(&db, false).await;
    again.await.unwrap().unwrap();
    assert_eq!(names(&db).await, ["bucket_open_25"]);
    Timed25::create_collection(&db).await.unwrap();
    is_sound::<Timed25>(&db).await;

    // An index of another capacity, and an index of the user's.
    builds_stop(&db, true).await;
    dropped::<Timed7>(&db).await;
    let trades = db.collection::<Document>("trades");
    let index = IndexModel::builder().keys(doc! { "n": 1 }).build();
    let of_the_users = tokio::spawn(async move { trades.create_index(index).await });
    while names(&db).await.len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let up = change_capacity::<Timed10>(&db);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!up.is_finished());
    builds_stop(&db, false).await;
    up.await.unwrap().unwrap();
    of_the_users.await.unwrap().unwrap();
    assert_eq!(names(&db).await, ["n_1", "bucket_open_10"]);
    Timed10::create_collection(&db).await.unwrap();
    is_sound::<Timed10>(&db).await;
}

/// The server ends a transaction that is too old (290), and its error does not say that a retry may
/// succeed.
#[bucket_testkit::test]
async fn a_transaction_that_took_too_long_is_begun_again() {
    let options = ["--setParameter", "enableTestCommands=1"];
    let server = Server::start_with(&options).await.unwrap();
    if !server.is_throw_away() || server.cluster().is_some() {
        return;
    }
    let db = server.database("recap_old_transaction").await.unwrap();
    let old = Timed25::buckets(&db).await.unwrap();
    let all = (0..40).map(|n| Timed25::new(1, n));
    old.append_many(all).await.unwrap();
    let fail = doc! {
        "configureFailPoint": "failCommand",
        "mode": { "times": 2 },
        "data": { "failCommands": ["delete"], "errorCode": 290 },
    };
    let admin = db.client().database("admin");
    admin.run_command(fail).await.unwrap();
    let done = Timed10::change_capacity(&db).await.unwrap();
    assert!(done.left.is_empty() && done.replaced > 0, "{done:?}");
    let trades = is_sound::<Timed10>(&db).await;
    assert_eq!(numbers(&trades, 1).await.len(), 40, "G1");
}

/// A program that opens the collection while it has no open index creates one with its own capacity.
#[bucket_testkit::test]
async fn a_second_open_index_goes(db: Live) {
    validated(&db).await;
    Timed25::change_capacity(&db).await.unwrap();
    let bound = doc! { "count": { "$lt": 10 } };
    let options = IndexOptions::builder()
        .name("bucket_open".to_owned())
        .unique(true)
        .partial_filter_expression(bound)
        .build();
    let keys = doc! { "customer": 1, "sealed": 1 };
    let old = IndexModel::builder().keys(keys).options(options).build();
    db.collection::<Document>("trades")
        .create_index(old)
        .await
        .unwrap();
    assert_eq!(names(&db).await, ["bucket_open_25", "bucket_open"]);
    Timed25::change_capacity(&db).await.unwrap();
    assert_eq!(names(&db).await, ["bucket_open_25"]);
    is_sound::<Timed25>(&db).await;
}

/// A handle may have read the last number before some were taken back. Where the index has this name, handles store no
/// full bucket, which it would not refuse.
#[bucket_testkit::test]
async fn rewritten_numbers_give_the_index_another_name(db: Live) {
    let trades = Numbered10::buckets(&db).await.unwrap();
    let all = (0..25).map(|n| Numbered10::new(1, n));
    trades.append_many(all).await.unwrap();
    Numbered10::change_capacity(&db).await.unwrap();
    assert_eq!(names(&db).await, ["bucket_open"]);
    for _ in 0..2 {
        let repacked = Numbered10::change_capacity(&db).repack(true).await;
        assert_eq!(repacked.unwrap().replaced, 0);
        assert_eq!(names(&db).await, ["bucket_open_10"]);
    }
    let late = (25..50).map(|n| Numbered10::new(1, n)).collect::<Vec<_>>();
    let appends = late.iter().map(|trade| trades.append(trade).into_future());
    futures_util::future::try_join_all(appends).await.unwrap();
    let trades = is_sound::<Numbered10>(&db).await;
    let mut read = numbers(&trades, 1).await;
    read.sort_unstable();
    assert_eq!(read, Vec::from_iter(0..50));
}

/// Which call comes last is random; nothing is lost, and one more call sets the capacity.
#[bucket_testkit::test(multi_thread)]
async fn two_calls_that_want_different_capacities_come_to_an_end(db: Live) {
    for _ in 0..10 {
        validated(&db).await;
        let (up, down) = (
            change_capacity::<Timed25>(&db),
            change_capacity::<Timed7>(&db),
        );
        let _ = (up.await.unwrap(), down.await.unwrap());
        Timed10::change_capacity(&db).repack(true).await.unwrap();
        assert_eq!(names(&db).await, ["bucket_open_10"]);
        let trades = is_sound::<Timed10>(&db).await;
        let read = numbers(&trades, 1).await;
        assert_eq!(read, (0..10).collect::<Vec<_>>());
    }
}

//! The items of a key stay in order, whatever is appended while the migration reads.

use std::{
    sync::atomic::{AtomicI32, Ordering::Relaxed},
    time::Duration,
};

use bucket_ops::Ops;
use bucket_runtime::{Bucket, mongodb::bson::Document};
use futures_util::TryStreamExt;

use super::{Timed, assert_migrated, convert, filled, migrate, old, timed, trade};
use crate::support::database::{Live, interrupted};

/// A bucket of each state gets new items: between the first and the second chunk, and after both.
#[bucket_testkit::test]
async fn g1_g5_items_of_a_key_stay_in_order_while_it_is_appended_to(db: Live) {
    let old = filled(&db, 1700).await;
    // One by one, and many by one command.
    let background = async {
        for first in (1700..2200).step_by(50) {
            for n in first..first + 25 {
                old.append(&trade(n)).await.unwrap();
            }
            let many = (first + 25..first + 50).map(trade);
            old.append_many(many).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let (done, stopped) = tokio::sync::oneshot::channel();
    let stopped = async { stopped.await.unwrap() };
    let migration = Ops::<Timed>::of(&db).migrate_from(timed).until(stopped);
    let writer = async {
        background.await;
        done.send(()).unwrap();
    };
    let (items, ()) = futures_util::join!(migration.into_future(), writer);
    assert_eq!(items.unwrap(), 2200);
    assert_eq!(migrate(&db, convert).await.unwrap(), 2200);
    assert_migrated(&db, 2200, true).await;
}

/// A key has this many items, and gets two more just before the migration sends the `nth` command for which `is_such`
/// holds: the first one fills the last bucket, and the second one opens another.
async fn assert_ordered(db: Live, items: i32, nth: i32, is_such: fn(&Document) -> bool) {
    let old = old::Trade::buckets(&db).await.unwrap();
    let trade = |n| old::Trade {
        customer: 7,
        ..trade(n)
    };
    assert_eq!(items % 3, 2);
    old.append_many((0..items).map(trade)).await.unwrap();
    let seen = AtomicI32::new(0);
    let is_moment =
        move |command: &Document| is_such(command) && seen.fetch_add(1, Relaxed) + 1 == nth;
    let step = move || {
        let old = old.clone();
        async move {
            old.append(&trade(items)).await.unwrap();
            old.append(&trade(items + 1)).await.unwrap();
        }
    };
    let client = interrupted(is_moment, step).await;
    let migrated = migrate(&client.database(db.name()), timed).await.unwrap();
    let all = items + 2;
    assert_eq!(migrated, all as u64, "the two were appended meanwhile");
    assert_eq!(numbers(&db).await, Vec::from_iter(0..all));
}

/// The numbers of the key's migrated items, as they are read.
async fn numbers(db: &Live) -> Vec<i32> {
    let buckets = Timed::buckets(db).await.unwrap();
    let items = buckets.items(&7).await.unwrap();
    items.map_ok(|item| item.n).try_collect().await.unwrap()
}

/// The first batch of a chunk has 101 buckets.
#[bucket_testkit::test(multi_thread)]
async fn g5_of_a_chunk_that_takes_several_batches(db: Live) {
    let is_batch = |command: &Document| command.get_str("collection") == Ok("old_trades");
    assert_ordered(db, 3 * 100 + 2, 1, is_batch).await;
}

/// So many items leave room in the last of a chunk's 500 buckets.
const CHUNK: i32 = 3 * 499 + 2;

/// The items are appended just before the next chunk is read, which takes both.
#[bucket_testkit::test(multi_thread)]
async fn g5_of_a_chunk_that_ends_with_an_open_bucket(db: Live) {
    let is_chunk = |command: &Document| command.get_str("find") == Ok("old_trades");
    assert_ordered(db, CHUNK, 2, is_chunk).await;
}

/// The items are appended just before the chunk is committed, so the first one is stored as an event before the next
/// chunk is read, which takes the second one. (The first transaction of a migration stores nothing.)
#[bucket_testkit::test(multi_thread)]
async fn g1_of_a_chunk_that_ends_with_an_open_bucket(db: Live) {
    let is_commit = |command: &Document| command.contains_key("commitTransaction");
    assert_ordered(db, CHUNK, 2, is_commit).await;
}

/// Each of these buckets exceeds the bytes of a chunk.
#[bucket_testkit::test]
async fn g5_of_chunks_with_one_bucket_each(db: Live) {
    let old = old::Trade::buckets(&db).await.unwrap();
    for n in 0..8 {
        let ticker = "A".repeat(2 << 20);
        let trade = old::Trade {
            customer: 7,
            ticker,
            ..trade(n)
        };
        old.append(&trade).await.unwrap();
    }
    assert_eq!(migrate(&db, timed).await.unwrap(), 8);
    assert_eq!(numbers(&db).await, Vec::from_iter(0..8));
}

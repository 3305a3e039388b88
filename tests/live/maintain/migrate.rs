//! Migration from one struct to another, beside writers, and when it is broken off.

mod order;
mod refused;

use std::time::Duration;

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket, Buckets, Result,
    mongodb::{
        Database,
        bson::{DateTime, Document},
    },
};
use futures_util::TryStreamExt;
use rand::Rng;

use crate::support::{
    assert_sound,
    database::{Live, Recorded, dense_buckets, documents, is_cluster, items},
};

mod old {
    use super::{Bucket, DateTime};

    /// Trades by customer, numbered.
    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(collection = "old_trades", id = "{customer}_{#}", capacity = 3)]
    pub(super) struct Trade {
        pub(super) customer: i64,
        pub(super) at: DateTime,
        pub(super) ticker: String,
        pub(super) qty: i32,
    }
}

/// Trades by their papers and hours, with sums.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "trades", id = "{ticker}_{at/1h}", capacity = 10)]
struct Trade {
    ticker: String,
    at: DateTime,
    customer: i64,
    #[bucket(sum)]
    quantity: i64,
}

/// Trades by customer, as before, in larger buckets ordered by time.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "timed_trades",
    id = "{customer}_{at:millis}",
    capacity = 7
)]
struct Timed {
    customer: i64,
    at: DateTime,
    n: i32,
}

/// Trades, each of which exists once.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "unique_trades", id = "{customer}_{#}", capacity = 7)]
struct Unique {
    customer: i64,
    #[bucket(unique)]
    n: i32,
}

fn convert(old: old::Trade) -> Trade {
    Trade {
        ticker: old.ticker,
        at: old.at,
        customer: old.customer,
        quantity: old.qty.into(),
    }
}

fn timed(old: old::Trade) -> Timed {
    Timed {
        customer: old.customer,
        at: old.at,
        n: old.qty,
    }
}

/// The `n`th trade; `n` grows with the time, and is different for each.
fn trade(n: i32) -> old::Trade {
    old::Trade {
        customer: i64::from(n) * 7 % 11,
        at: DateTime::from_millis(1_700_000_000_000 + i64::from(n) * 60_000),
        ticker: ["MDB", "IBM", "100%", "A_B"][n as usize % 4].to_owned(),
        qty: n,
    }
}

/// Old trades up to this number.
async fn filled(db: &Database, trades: i32) -> Buckets<old::Trade> {
    let old = old::Trade::buckets(db).await.unwrap();
    old.append_many((0..trades).map(trade)).await.unwrap();
    old
}

async fn migrate<T: Bucket>(
    db: &Database,
    convert: impl Fn(old::Trade) -> T + Send + 'static,
) -> Result<u64> {
    Ops::<T>::of(db).migrate_from(convert).await
}

/// The new collection holds exactly the trades up to `n`, those of a key in order, and breaks no
/// guarantee; nothing is left of the migration.
async fn assert_migrated(db: &Database, n: i32, is_in_order: bool) {
    let trades = Trade::buckets(db).await.unwrap();
    assert_sound(&trades).await;
    dense_buckets(&trades).await;
    let found = trades.all_items().await.unwrap();
    let mut found: Vec<_> = found.try_collect().await.unwrap();
    found.sort_by_key(|trade| trade.quantity);
    assert_eq!(found, Vec::from_iter((0..n).map(trade).map(convert)));
    let sum = trades.rollup_all().await.unwrap().quantity.sum();
    let expected: i64 = (0..i64::from(n)).sum();
    assert_eq!(sum.to_string(), expected.to_string());
    let records = db.collection::<Document>("bucket_progress");
    assert_eq!(documents(&records).await, []);
    if is_in_order {
        let timed = Timed::buckets(db).await.unwrap();
        for customer in 0..11 {
            let found = items(&timed, &customer).await;
            let expected = (0..n).map(trade).map(self::timed);
            let expected = expected.filter(|trade| trade.customer == customer);
            assert_eq!(found, Vec::from_iter(expected), "G5: {customer}");
        }
    }
}

#[bucket_testkit::test]
async fn items_move_to_another_key_ordinal_and_capacity(db: Live) {
    let old = filled(&db, 2000).await;
    let before = documents(old.collection()).await;
    let mut reports = Vec::new();
    let migration = Ops::<Trade>::of(&db)
        .migrate_from(convert)
        .on_progress(|at| reports.push(at));
    assert_eq!(migration.await.unwrap(), 2000);
    assert_eq!((reports[0].found, reports[0].stored), (2000, 0));
    assert!(reports.is_sorted_by_key(|at| at.stored));
    let last = reports.last().unwrap();
    assert_eq!((last.stored, last.is_following), (2000, true));
    assert_eq!(migrate(&db, timed).await.unwrap(), 2000);
    assert_migrated(&db, 2000, true).await;
    let after = documents(old.collection()).await;
    assert_eq!(after, before, "the old ones stay");
}

/// Whole buckets are written together, however many there are.
#[bucket_testkit::test]
async fn a_transaction_takes_few_commands(Recorded(db, record): Recorded) {
    filled(&db, 1200).await;
    Trade::buckets(&db).await.unwrap();
    record.take();
    // 407 buckets, which is one chunk.
    assert_eq!(migrate(&db, convert).await.unwrap(), 1200);
    let sent = record.names();
    let is_write = |name: &&String| ["insert", "update"].contains(&name.as_str());
    // Of the new collection, the record's four, and the buckets.
    assert!(sent.iter().filter(is_write).count() <= 6, "{sent:?}");
    // On a cluster the last bucket of each window is read by itself.
    assert!(sent.len() < 40 || is_cluster().await, "{sent:?}");
    assert_migrated(&db, 1200, false).await;
}

#[bucket_testkit::test]
async fn an_empty_collection_is_migrated(db: Live) {
    assert_eq!(migrate(&db, convert).await.unwrap(), 0);
    assert_migrated(&db, 0, false).await;
}

/// Each call is dropped at a random moment, while a writer goes on; the next one continues.
#[bucket_testkit::test(multi_thread)]
async fn g1_a_migration_that_is_dropped_again_and_again_stores_each_item_once(db: Live) {
    let old = filled(&db, 3000).await;
    let writer = tokio::spawn(async move {
        for n in 3000..3600 {
            old.append(&trade(n)).await.unwrap();
        }
    });
    let mut dropped = 0;
    loop {
        // On a cluster each event is shown a second later.
        let longest = match is_cluster().await {
            true => 3000 * (1 + dropped),
            false => 50 * (1 + dropped / 2),
        };
        let limit = Duration::from_millis(rand::rng().random_range(1..longest));
        let is_over = writer.is_finished();
        match tokio::time::timeout(limit, migrate(&db, convert)).await {
            Err(_) => dropped += 1,
            Ok(Ok(3600)) => break,
            // The call ended in a moment in which nothing was left to do, and wants to verify that.
            Ok(Ok(_)) => {
                assert!(!is_over);
                drop_new(&db).await;
            }
            // The call that was dropped before had come to its end.
            Ok(Err(error)) if error.is_key_taken() => drop_new(&db).await,
            Ok(Err(error)) => assert!(
                error.is_unverified() || error.is_import_overtaken(),
                "{error}"
            ),
        }
    }
    writer.await.unwrap();
    assert!(dropped > 0);
    assert_migrated(&db, 3600, false).await;
}

async fn drop_new(db: &Live) {
    let new = Trade::buckets(db).await.unwrap();
    new.collection().drop().await.unwrap();
}

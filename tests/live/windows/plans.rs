//! The keys and documents that the server examines for writes into windows, and for reads of a time range.

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::bson::{DateTime, Document, doc},
};
use futures_util::TryStreamExt;

use crate::support::{
    database::{Recorded, ids},
    plans::{examined, examines},
};

const HOUR: i64 = 3_600_000;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "readings", id = "{sensor}_{at/1h}", capacity = 4)]
struct Reading {
    sensor: i64,
    at: DateTime,
    n: i64,
}

/// The nth of eight readings an hour, which fill two buckets.
fn reading(sensor: i64, n: i64) -> Reading {
    Reading {
        sensor,
        at: DateTime::from_millis(n * HOUR / 8),
        n,
    }
}

async fn fill(readings: &Buckets<Reading>) {
    for sensor in 1..=3 {
        let all = (0..800).map(|n| reading(sensor, n));
        readings.append_many(all).await.unwrap();
    }
}

async fn numbers(items: bucket_runtime::action::Items<'_, Reading>) -> Vec<i64> {
    let items: Vec<_> = items.await.unwrap().try_collect().await.unwrap();
    items.iter().map(|item| item.n).collect()
}

/// 100 windows of two buckets each: a read visits only the buckets of the windows that its range
/// touches.
#[bucket_testkit::test]
async fn a_range_of_times_visits_the_buckets_of_its_windows(Recorded(db, record): Recorded) {
    let readings = Reading::buckets(&db).await.unwrap();
    fill(&readings).await;
    let at = |n: i64| reading(1, n).at;
    let field = Reading::FIELDS.at;
    for (filter, expected, buckets) in [
        (field.between(at(400)..at(416)), 400..416, 4),
        (field.between(at(400)..=at(416)), 400..417, 6),
        (field.between(at(401)..at(403)), 401..403, 2),
        (field.eq(at(403)), 403..404, 2),
        (field.gte(at(792)), 792..800, 2),
        (field.gt(at(791)), 792..800, 4),
        (field.lt(at(8)), 0..8, 2),
        (field.gte(at(8)).and(Reading::FIELDS.n.lt(10)), 8..10, 198),
        (field.lt(at(3)).or(field.eq(at(9))), 0..3, 4),
    ] {
        record.take();
        let mut expected: Vec<_> = expected.collect();
        if buckets == 4 && expected.len() == 3 {
            expected.push(9);
        }
        let newest = numbers(readings.items(&2).filter(filter.clone()).newest_first()).await;
        assert!(newest.iter().rev().eq(&expected), "{newest:?}");
        assert_eq!(numbers(readings.items(&2).filter(filter)).await, expected);
        for plan in examined(&db, &record).await {
            assert!(plan.documents <= buckets, "{plan:?} of {buckets}");
            assert!(plan.keys <= buckets + 1, "{plan:?} of {buckets}");
        }
    }
}

/// Across all keys the windows form no range of ids, but an index on the window finds them.
#[bucket_testkit::test]
async fn an_index_on_the_window_finds_a_range_of_times_of_all_keys(Recorded(db, record): Recorded) {
    let readings = Reading::buckets(&db).await.unwrap();
    fill(&readings).await;
    let range = reading(1, 400).at..reading(1, 416).at;
    let read = async || {
        let filter = Reading::FIELDS.at.between(range.clone());
        numbers(readings.all_items().filter(filter)).await.len()
    };
    record.take();
    assert_eq!(read().await, 48);
    assert_eq!(examined(&db, &record).await[0].documents, 600);
    let index = doc! { "createIndexes": "readings", "indexes": [{ "key": { "window": 1 }, "name": "mine" }] };
    db.run_command(index).await.unwrap();
    record.take();
    assert_eq!(read().await, 48);
    assert_eq!(examined(&db, &record).await[0].documents, 12);
}

/// An append examines one entry of the open index, however many windows the key has, open or full.
#[bucket_testkit::test]
async fn an_append_finds_its_window_in_one_step(Recorded(db, record): Recorded) {
    let readings = Reading::buckets(&db).await.unwrap();
    fill(&readings).await;
    for window in 0..100 {
        readings.append(&reading(2, window * 8)).await.unwrap();
    }
    record.take();
    readings.append(&reading(2, 408)).await.unwrap();
    assert_eq!(examined(&db, &record).await, [examines(1, 1)]);
    // Into a window that does not exist yet.
    readings.append(&reading(2, 2000)).await.unwrap();
    assert_eq!(record.names(), ["update"]);
    let last: Option<Document> = (readings.collection())
        .find_one(readings.filter(&2))
        .sort(doc! { "_id": -1 })
        .await
        .unwrap();
    assert_eq!(last.unwrap().get_str("_id").unwrap(), "2_0000900000");
}

/// A load into a window that has full buckets reads the last of them, and goes on after it.
#[bucket_testkit::test]
async fn a_load_goes_on_behind_the_buckets_of_its_window(Recorded(db, record): Recorded) {
    let readings = Reading::buckets(&db).await.unwrap();
    let load = async || readings.append_many((0..8).map(|n| reading(1, n))).await;
    load().await.unwrap();
    record.take();
    load().await.unwrap();
    assert_eq!(record.names(), ["find", "insert", "find", "insert"]);
    let suffixes = ["", "_000001", "_000002", "_000003"];
    assert_eq!(
        ids(&readings).await,
        suffixes.map(|suffix| format!("1_0000000000{suffix}"))
    );
}

//! The keys and documents that the server examines for a read of items, and those that it sends.

use std::ops::Range;

use bucket_runtime::{
    Bucket,
    action::Items,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;

use crate::support::{
    database::{Recorded, explain, first_batch, is_cluster, number},
    plans::{examined, stats},
};

const CAPACITY: i64 = 10;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "timed", id = "{site}/{sensor}_{at}", capacity = 10)]
struct Timed {
    site: String,
    sensor: i64,
    at: DateTime,
    value: i64,
}

/// Fills a key with buckets, one per second; the nth item has the value n. `counts` holds each bucket's
/// number of items.
async fn fill(db: &Database, sensor: i64, counts: &[i64]) {
    let mut n = 0;
    let mut buckets = Vec::new();
    for (second, count) in (0..).zip(counts) {
        let at = DateTime::from_millis(second * 1000);
        let items = (n..n + count).map(|n| doc! { "at": at, "value": n });
        let items = Vec::from_iter(items);
        n += count;
        let id = format!("Oslo/{sensor}_{second:010}");
        let mut bucket = doc! {
            "_id": &id, "site": "Oslo", "sensor": sensor, "count": *count as i32, "items": items,
        };
        if *count < CAPACITY && second + 1 < counts.len() as i64 {
            bucket.insert("sealed", id);
        }
        buckets.push(bucket);
    }
    let timed = db.collection::<Document>("timed");
    timed.insert_many(buckets).await.unwrap();
}

async fn values(items: Items<'_, Timed>) -> Vec<i64> {
    let values = items.await.unwrap().map_ok(|item| item.value);
    values.try_collect().await.unwrap()
}

#[bucket_testkit::test]
async fn a_filter_visits_the_buckets_of_its_key_and_sends_what_matches(
    Recorded(db, record): Recorded,
) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let timed = Timed::buckets(&db).await.unwrap();
    for sensor in 1..=3 {
        fill(&db, sensor, &[CAPACITY; 100]).await;
    }
    record.take();
    let some = Timed::FIELDS.value.is_in([123, 125, 777]);
    let read = values(timed.items(("Oslo", &2)).filter(some.clone())).await;
    assert_eq!(read, [123, 125, 777]);
    let mut commands = record.take();
    assert_eq!(commands.len(), 1, "{commands:?}");

    let explained = explain(&db, commands.remove(0)).await;
    let stats = stats(&explained).unwrap();
    assert_eq!(number(stats.get("totalDocsExamined")), 100);
    // One more index key ends the range.
    assert!(number(stats.get("totalKeysExamined")) <= 101, "{stats}");
    // Two buckets are unwound, and three items leave the server.
    let stages = explained.get_array("stages").unwrap().iter();
    let handed_on = |stage: &Bson| {
        let stage = stage.as_document().unwrap();
        (
            stage.keys().next().unwrap().clone(),
            number(stage.get("nReturned")),
        )
    };
    let handed_on = Vec::from_iter(stages.map(handed_on));
    let unwind = ("$unwind".to_owned(), 20);
    assert_eq!(handed_on[0], ("$cursor".to_owned(), 2), "{handed_on:?}");
    assert!(handed_on.contains(&unwind), "{handed_on:?}");
    assert_eq!(handed_on.last().unwrap().1, 3, "{handed_on:?}");

    // A read of all keys is as cheap, if conditions name the key's fields from the first one on.
    let field = Timed::FIELDS;
    let id = "Rome/2_0000000000";
    let other = doc! { "_id": id, "site": "Rome", "sensor": 2_i64, "count": 0, "items": [] };
    timed.collection().insert_one(other).await.unwrap();
    record.take();
    for (key, documents) in [
        (field.sensor.eq(2).and(field.site.eq("Oslo")), 100),
        (field.site.eq("Oslo").and(field.sensor.is_in([2, 9])), 300),
        (field.sensor.eq(2), 301),
    ] {
        let read = values(timed.all_items().filter(some.clone()).filter(key)).await;
        assert_eq!(read, [123, 125, 777]);
        let examined = examined(&db, &record).await;
        assert_eq!(examined[0].documents, documents, "{examined:?}");
    }
}

/// A time range alone visits all buckets of the key, since an id tells only when its bucket begins. A
/// user's own index finds the right ones.
#[bucket_testkit::test]
async fn an_index_on_key_and_item_field_finds_the_buckets_that_hold_a_match(
    Recorded(db, record): Recorded,
) {
    let timed = Timed::buckets(&db).await.unwrap();
    for sensor in 1..=3 {
        fill(&db, sensor, &[CAPACITY; 100]).await;
    }
    record.take();
    let at = |seconds: i64| DateTime::from_millis(seconds * 1000);
    let range = Timed::FIELDS.at.between(at(50)..at(53));
    let read = async || values(timed.items(("Oslo", &2)).filter(range.clone())).await;
    assert_eq!(read().await, (500..530).collect::<Vec<_>>());
    assert_eq!(examined(&db, &record).await[0].documents, 100);

    let keys = doc! { "site": 1, "sensor": 1, "items.at": 1 };
    let index = doc! { "createIndexes": "timed", "indexes": [{ "key": keys, "name": "mine" }] };
    db.run_command(index).await.unwrap();
    record.take();
    assert_eq!(read().await, (500..530).collect::<Vec<_>>());
    let examined = examined(&db, &record).await;
    assert_eq!(examined[0].documents, 3, "{examined:?}");
    assert!(examined[0].keys <= 31, "{examined:?}");
}

/// Buckets that are sealed while they have room, anywhere in the order.
#[bucket_testkit::test]
async fn a_skip_is_one_command_wherever_it_ends(Recorded(db, record): Recorded) {
    let timed = Timed::buckets(&db).await.unwrap();
    let mut counts = vec![CAPACITY; 100];
    for sealed in [0, 1, 17, 40, 41, 42, 95] {
        counts[sealed] = 1;
    }
    counts.push(3);
    fill(&db, 1, &counts).await;
    fill(&db, 2, &counts).await;
    record.take();
    let total: i64 = counts.iter().sum();
    let ends = [1, 9, 10, 11, 150, total - 25, total - 5, total, total + 50];
    for newest_first in [false, true] {
        for skip in ends.map(|end| end as usize) {
            let mut all = Vec::from_iter(0..total);
            let mut items = timed.items(("Oslo", &1)).skip(skip as u64);
            if newest_first {
                all.reverse();
                items = items.newest_first();
            }
            let rest = Vec::from_iter(all.into_iter().skip(skip).take(20));
            assert_eq!(values(items.limit(20)).await, rest, "{skip} {newest_first}");
            assert_eq!(record.names(), ["aggregate"]);
        }
    }
    for far in [i64::MAX as u64, u64::MAX] {
        assert_eq!(values(timed.items(("Oslo", &1)).skip(far)).await, [0; 0]);
    }
    assert_eq!(values(timed.items(("Oslo", &1)).limit(0)).await, [0; 0]);
    let last = timed.items(("Oslo", &1)).skip(total as u64 - 2);
    assert_eq!(values(last.limit(u64::MAX)).await, [total - 2, total - 1]);
}

/// Items come in whole buckets, also a few of them, unless buckets are short, or much larger than what is asked for.
#[bucket_testkit::test]
async fn whole_buckets_are_read_by_one_find(Recorded(db, record): Recorded) {
    let timed = Timed::buckets(&db).await.unwrap();
    fill(&db, 1, &[CAPACITY; 5]).await;
    fill(&db, 2, &[CAPACITY, 1, 1, 1, 4]).await;
    record.take();
    let of = |sensor| timed.items(("Oslo", &sensor));
    let newest = |sensor| of(sensor).newest_first();
    let up = |range: Range<i64>| Vec::from_iter(range);
    let down = |range: Range<i64>| Vec::from_iter(range.rev());
    for (items, expected, sent) in [
        (of(1), up(0..50), &["find"][..]),
        (of(1).filter(Default::default()), up(0..50), &["find"]),
        (of(1).skip(15), up(15..50), &["aggregate"]),
        (timed.all_items().limit(1), up(0..1), &["find"]),
        (of(1).limit(11), up(0..11), &["find"]),
        (of(2).limit(6), up(0..6), &["find"]),
        (newest(1).limit(11), down(39..50), &["find"]),
        (newest(2).limit(5), down(12..17), &["find"]),
        (newest(2).limit(6), down(11..17), &["find", "aggregate"]),
    ] {
        assert_eq!(values(items).await, expected);
        assert_eq!(record.names(), sent, "{expected:?}");
    }
    let page = newest(1).page_of_items(10).await.unwrap();
    assert_eq!((page.items[0].value, page.items[9].value), (49, 40));
    let next = newest(1).page_of_items(10).after(&page.next.unwrap());
    assert_eq!(next.await.unwrap().items[0].value, 39);
    assert_eq!(record.names(), ["find", "find"]);
}

/// Only the fields that are read leave the server: a bucket may hold more fields of the user's.
#[bucket_testkit::test]
async fn fields_of_the_bucket_that_nobody_reads_are_not_sent(Recorded(db, record): Recorded) {
    let timed = Timed::buckets(&db).await.unwrap();
    fill(&db, 1, &[CAPACITY; 2]).await;
    let big = doc! { "$set": { "notes": "x".repeat(10_000) } };
    timed.collection().update_many(doc! {}, big).await.unwrap();
    record.take();
    values(timed.items(("Oslo", &1)).filter(Timed::FIELDS.value.gte(5))).await;
    let sent = first_batch(&db, record.take().remove(0)).await;
    assert_eq!(sent.len(), 15);
    assert_eq!(
        sent[0],
        // The count's field says how many elements are before the item.
        doc! { "_id": "Oslo/1_0000000000", "site": "Oslo", "sensor": 1_i64, "count": 5_i64, "items": [
            { "at": DateTime::from_millis(0), "value": 5_i64 },
        ] },
    );
}

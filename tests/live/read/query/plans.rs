//! The keys and documents that the server examines for a read of items, and those that it sends.

use bucket_runtime::{
    Bucket,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
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
        let items: Vec<_> = (n..n + count)
            .map(|n| doc! { "at": DateTime::from_millis(second * 1000), "value": n })
            .collect();
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

/// How many documents each stage of a pipeline passes on.
async fn handed_on(db: &Database, command: Document) -> Vec<(String, i64)> {
    let explained = explain(db, command).await;
    let stages = explained.get_array("stages").unwrap();
    let stages = stages.iter().map(|stage| {
        let stage = stage.as_document().unwrap();
        let name = stage.keys().next().unwrap().clone();
        (name, number(stage.get("nReturned")))
    });
    stages.collect()
}

async fn values(items: bucket_runtime::action::Items<'_, Timed>) -> Vec<i64> {
    let items: Vec<_> = items.await.unwrap().try_collect().await.unwrap();
    items.iter().map(|item| item.value).collect()
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
    let commands = record.take();
    assert_eq!(commands.len(), 1, "{commands:?}");

    let explained = explain(&db, commands[0].clone()).await;
    let stats = stats(&explained).unwrap();
    assert_eq!(number(stats.get("totalDocsExamined")), 100);
    // One more index key ends the range.
    assert!(number(stats.get("totalKeysExamined")) <= 101, "{stats}");
    // Two buckets are unwound, and three items leave the server.
    let handed_on = handed_on(&db, commands[0].clone()).await;
    let unwind = ("$unwind".to_owned(), 20);
    assert_eq!(handed_on[0], ("$cursor".to_owned(), 2), "{handed_on:?}");
    assert!(handed_on.contains(&unwind), "{handed_on:?}");
    assert_eq!(handed_on.last().unwrap().1, 3, "{handed_on:?}");

    // A read of all keys is as cheap, if conditions name the key's fields from the first one on.
    let field = Timed::FIELDS;
    let other = doc! { "_id": "Rome/2_0000000000", "site": "Rome", "sensor": 2_i64, "count": 0, "items": [] };
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
            let rest: Vec<_> = all.into_iter().skip(skip).take(20).collect();
            assert_eq!(values(items.limit(20)).await, rest, "{skip} {newest_first}");
            assert_eq!(record.names(), ["aggregate"]);
        }
    }
    for far in [i64::MAX as u64, u64::MAX] {
        assert_eq!(values(timed.items(("Oslo", &1)).skip(far)).await, [0; 0]);
    }
    assert_eq!(values(timed.items(("Oslo", &1)).limit(0)).await, [0; 0]);
    let most = timed
        .items(("Oslo", &1))
        .skip(total as u64 - 2)
        .limit(u64::MAX);
    assert_eq!(values(most).await, [total - 2, total - 1]);
}

#[bucket_testkit::test]
async fn whole_buckets_are_read_by_one_find(Recorded(db, record): Recorded) {
    let timed = Timed::buckets(&db).await.unwrap();
    fill(&db, 1, &[CAPACITY; 3]).await;
    record.take();
    assert_eq!(values(timed.items(("Oslo", &1))).await.len(), 30);
    assert_eq!(record.names(), ["find"]);
    let everything = timed.items(("Oslo", &1)).filter(Default::default());
    assert_eq!(values(everything).await.len(), 30);
    assert_eq!(record.names(), ["find"]);
    assert_eq!(values(timed.all_items().newest_first()).await[0], 29);
    assert_eq!(record.names(), ["find"]);
    let last = timed.items(("Oslo", &1)).skip(15);
    assert_eq!(values(last).await, (15..30).collect::<Vec<_>>());
    assert_eq!(record.names(), ["aggregate"]);
    assert_eq!(values(timed.all_items().limit(1)).await, [0]);
    assert_eq!(record.names(), ["find"]);
}

/// In whole buckets, unless these are short, or much larger than what is asked for.
#[bucket_testkit::test]
async fn a_few_items_are_taken_out_of_whole_buckets(Recorded(db, record): Recorded) {
    let timed = Timed::buckets(&db).await.unwrap();
    fill(&db, 1, &[CAPACITY; 5]).await;
    fill(&db, 2, &[CAPACITY, 1, 1, 1, 4]).await;
    record.take();
    for (sensor, limit, sent) in [
        (1, 11, &["find"][..]),
        (2, 5, &["find"]),
        (2, 6, &["find", "aggregate"]),
    ] {
        for newest_first in [true, false] {
            let items = timed.items(("Oslo", &sensor)).limit(limit);
            let mut all = Vec::from_iter(0..if sensor == 1 { 50 } else { 17 });
            let items = match newest_first {
                true => items.newest_first(),
                false => items,
            };
            if newest_first {
                all.reverse();
            }
            all.truncate(limit as usize);
            assert_eq!(values(items).await, all);
            let sent = if newest_first { sent } else { &["find"] };
            assert_eq!(record.names(), sent, "{limit} of {sensor}, {newest_first}");
        }
    }
    let page = timed.items(("Oslo", &1)).newest_first().page_of_items(10);
    let page = page.await.unwrap();
    assert_eq!((page.items[0].value, page.items[9].value), (49, 40));
    let token = page.next.unwrap();
    let next = timed.items(("Oslo", &1)).newest_first().page_of_items(10);
    assert_eq!(next.after(&token).await.unwrap().items[0].value, 39);
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

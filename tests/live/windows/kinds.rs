//! Time windows: late and early items find their own window, however they are written, and reads return
//! what a plain list of windows does.

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::bson::{DateTime, Document, doc},
};
use futures_util::TryStreamExt;
use proptest::prelude::*;

use crate::support::{
    database::{Live, documents, fresh, items, pages},
    ops,
    random::for_any,
    scale::scaled,
};

const CAPACITY: usize = 3;
const HOUR: i64 = 3_600_000;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "readings",
    id = "{sensor}_{at/1h}",
    capacity = 3,
    window = "hour"
)]
struct Reading {
    sensor: String,
    at: DateTime,
    n: i64,
}

impl Reading {
    fn new(sensor: &str, millis: i64, n: i64) -> Self {
        Self {
            sensor: sensor.to_owned(),
            at: DateTime::from_millis(millis),
            n,
        }
    }
}

/// The documents that these readings must become, built by hand: a window's buckets one after the
/// other, in the order in which its readings came.
fn expected(readings: &[Reading]) -> Vec<Document> {
    let mut windows = BTreeMap::<(&str, i64), Vec<&Reading>>::new();
    for reading in readings {
        let window = reading.at.timestamp_millis().div_euclid(HOUR) * HOUR;
        let window = windows.entry((&reading.sensor, window)).or_default();
        window.push(reading);
    }
    let mut documents = Vec::new();
    for ((sensor, window), readings) in windows {
        let seconds = window / 1000;
        let start = match seconds {
            0.. => format!("{seconds:010}"),
            _ => format!("-{:010}", 10_000_000_000 + seconds),
        };
        for (n, readings) in readings.chunks(CAPACITY).enumerate() {
            let suffix = match n {
                0 => String::new(),
                _ => format!("_{n:06}"),
            };
            let item = |reading: &&Reading| doc! { "at": reading.at, "n": reading.n };
            documents.push(doc! {
                "_id": format!("{}_{start}{suffix}", sensor.replace('_', "%5F")),
                "sensor": sensor,
                "hour": DateTime::from_millis(window),
                "count": readings.len() as i32,
                "items": readings.iter().map(item).collect::<Vec<_>>(),
            });
        }
    }
    documents.sort_by(|a, b| a.get_str("_id").unwrap().cmp(b.get_str("_id").unwrap()));
    documents
}

fn readings() -> impl Strategy<Value = Vec<Reading>> {
    let reading = ("a|b_", -3 * HOUR..3 * HOUR);
    prop::collection::vec(reading, 0..40).prop_map(|readings| {
        let readings = readings.iter().zip(0..);
        readings
            .map(|((sensor, millis), n)| Reading::new(sensor, *millis, n))
            .collect()
    })
}

/// One by one, all at once, in one load, in two loads, and from a flat collection.
#[bucket_testkit::test(multi_thread)]
async fn every_way_of_writing_makes_the_same_buckets(db: Live) {
    for_any(
        scaled(14),
        (readings(), 0..40_usize),
        async |(readings, cut)| {
            let expected_documents = expected(&readings);
            let buckets = fresh::<Reading>(&db).await;
            for reading in &readings {
                buckets.append(reading).await.unwrap();
            }
            assert_eq!(documents(buckets.collection()).await, expected_documents);
            reads_agree(&buckets, &readings).await;

            let buckets = fresh::<Reading>(&db).await;
            buckets.append_many(readings.clone()).await.unwrap();
            assert_eq!(documents(buckets.collection()).await, expected_documents);

            let buckets = fresh::<Reading>(&db).await;
            let mut session = db.client().start_session().await.unwrap();
            let (first, second) = readings.split_at(cut.min(readings.len()));
            for reading in first {
                buckets.append(reading).session(&mut session).await.unwrap();
            }
            buckets.append_many(second.to_vec()).await.unwrap();
            assert_eq!(documents(buckets.collection()).await, expected_documents);

            // An import sorts a flat collection by time.
            let buckets = fresh::<Reading>(&db).await;
            let flat = db.collection::<Document>("flat");
            flat.drop().await.unwrap();
            let row = |Reading { sensor, at, n }: &Reading| {
                doc! { "_id": *n, "sensor": sensor, "at": *at, "n": *n }
            };
            let rows = Vec::from_iter(readings.iter().map(row));
            if !rows.is_empty() {
                flat.insert_many(rows).await.unwrap();
            }
            ops(&buckets).import_flat(&flat).await.unwrap();
            let mut in_order = readings.clone();
            in_order.sort_by_key(|reading| reading.at);
            assert_eq!(documents(buckets.collection()).await, expected(&in_order));
        },
    );
}

/// Compares every read of every key with the list of its readings, in the order of the windows.
async fn reads_agree(buckets: &Buckets<Reading>, readings: &[Reading]) {
    for sensor in ["a", "b_"] {
        let own = readings.iter().filter(|one| one.sensor == sensor);
        let mut own = Vec::from_iter(own.cloned());
        own.sort_by_key(|reading| reading.at.timestamp_millis().div_euclid(HOUR));
        assert_eq!(items(buckets, sensor).await, own);
        assert_eq!(buckets.count(sensor).await.unwrap(), own.len() as u64);
        let pages = pages(buckets, sensor).await;
        let page_count = buckets.page_count(sensor).await.unwrap();
        assert_eq!(page_count, pages.len() as u64);
        assert_eq!(buckets.latest(sensor).await.unwrap().as_ref(), pages.last());
        for (n, page) in pages.iter().enumerate() {
            let read = buckets.page(sensor, n as u64 + 1).await.unwrap();
            assert_eq!(read.as_ref(), Some(page));
        }
        let skip = own.len() / 2 + CAPACITY;
        let skipped = buckets.items(sensor).skip(skip as u64).limit(4);
        let skipped: Vec<_> = skipped.await.unwrap().try_collect().await.unwrap();
        let expected = own.into_iter().skip(skip).take(4);
        assert_eq!(skipped, Vec::from_iter(expected));
    }
}

/// Ids hold ten digits, and a window's start must fit into them.
#[bucket_testkit::test]
async fn times_past_the_ids_are_refused_and_those_within_are_read(db: Live) {
    let buckets = fresh::<Reading>(&db).await;
    let limit = 10_000_000_000_000;
    for far in [limit + HOUR, -limit - 1, i64::MAX, i64::MIN] {
        let reading = Reading::new("a", far, 0);
        let error = buckets.append(&reading).await.unwrap_err();
        assert!(error.is_out_of_range(), "{error}");
        let error = buckets.append_many([reading]).await.unwrap_err();
        assert!(error.failed()[0].error.is_out_of_range(), "{error}");
    }
    // -10^10 seconds is not a multiple of an hour, so the window of the first moments has no id.
    let first = (-limit).div_euclid(HOUR) * HOUR;
    let reading = Reading::new("a", first + HOUR - 1, 0);
    let error = buckets.append(&reading).await.unwrap_err();
    assert!(error.is_out_of_range(), "{error}");
    let near = [first + HOUR, -1, 0, limit - 1];
    let near = near.map(|millis| Reading::new("a", millis, 0));
    for reading in near.iter().rev() {
        buckets.append(reading).await.unwrap();
    }
    assert_eq!(items(&buckets, "a").await, near);
    for reading in &near {
        let at = Reading::FIELDS.at.eq(reading.at);
        let found = buckets.items("a").filter(at).await.unwrap();
        let found: Vec<_> = found.try_collect().await.unwrap();
        assert_eq!(found, std::slice::from_ref(reading));
    }
    let all = Reading::FIELDS.at.between(DateTime::MIN..DateTime::MAX);
    let found = buckets.all_items().filter(all).await.unwrap();
    assert_eq!(found.try_collect::<Vec<_>>().await.unwrap(), near);
}

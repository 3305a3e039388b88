//! How long calls take, and what they count.

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket,
    mongodb::{Database, bson::doc},
};
use bucket_testkit::Server;
use futures_util::TryStreamExt;
use opentelemetry::KeyValue;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};

use crate::support::{Mark, OBSERVED, ObservedDatabase, attribute, observed};

/// What a metric holds about this database: counts or sums, by operation and type of error.
fn measured(db: &Database, metric: &str) -> BTreeMap<String, u64> {
    OBSERVED.meters.force_flush().unwrap();
    let finished = OBSERVED.metrics.get_finished_metrics().unwrap();
    let scopes = finished.last().unwrap().scope_metrics();
    let metrics = scopes.flat_map(|scope| scope.metrics());
    let found = metrics.filter(|found| found.name() == metric).last();
    let mut counts = BTreeMap::new();
    let mut add = |attributes: &mut dyn Iterator<Item = &KeyValue>, count| {
        let attributes: Vec<_> = attributes.collect();
        let text = |name| attribute(attributes.iter().copied(), name);
        assert_eq!(text("db.system.name").as_deref(), Some("mongodb"));
        if text("db.namespace").as_deref() != Some(db.name()) {
            return;
        }
        assert_eq!(text("db.collection.name").as_deref(), Some("marks"));
        let operation = text("db.operation.name").unwrap();
        let name = match text("error.type") {
            Some(error) => format!("{operation} {error}"),
            None => operation,
        };
        *counts.entry(name).or_default() += count;
    };
    match found.unwrap().data() {
        AggregatedMetrics::F64(MetricData::Histogram(times)) => {
            for point in times.data_points() {
                assert_eq!(point.bounds().count(), 9);
                assert!(point.sum() > 0.0);
                // A dropped call may not have got a connection.
                let has = |name| attribute(point.attributes(), name).is_some();
                assert!(has("server.port") || has("error.type"), "{point:?}");
                add(&mut point.attributes(), point.count());
            }
        }
        AggregatedMetrics::U64(MetricData::Sum(sum)) => {
            for point in sum.data_points() {
                add(&mut point.attributes(), point.value());
            }
        }
        other => panic!("{other:?}"),
    }
    counts
}

fn expected<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.map(|(name, count)| (name.to_owned(), count)).into()
}

#[bucket_testkit::test]
async fn each_call_is_measured_once(db: ObservedDatabase) {
    let marks = Mark::buckets(&db).await.unwrap();
    for n in 0..3 {
        marks.append(&Mark { key: 1, n }).await.unwrap();
    }
    marks
        .append_many((3..25).map(|n| Mark { key: 1, n }))
        .await
        .unwrap();
    let items = marks.items(&1).await.unwrap();
    items.try_collect::<Vec<_>>().await.unwrap();
    // A call that is dropped is measured, too.
    let mark = Mark { key: 2, n: 0 };
    let mut dropped = Box::pin(marks.append(&mark).into_future());
    assert!(futures_util::poll!(&mut dropped).is_pending());
    drop(dropped);

    let times = measured(&db, "db.client.operation.duration");
    let one_each = [
        ("buckets", 1),
        ("append", 3),
        ("append_many", 1),
        ("items", 1),
    ];
    let mut calls = expected(one_each);
    calls.insert("append Dropped".to_owned(), 1);
    assert_eq!(times, calls);
    let items = [
        ("buckets", 0),
        ("append", 3),
        ("append_many", 22),
        ("items", 25),
    ];
    assert_eq!(measured(&db, "bucket.client.items"), expected(items));
    let tries = [
        ("buckets", 1),
        ("append", 4),
        ("append_many", 1),
        ("items", 1),
    ];
    assert_eq!(measured(&db, "bucket.client.tries"), expected(tries));
}

#[bucket_testkit::test]
async fn doubts_are_counted() {
    let options = ["--setParameter", "enableTestCommands=1"];
    let server = Server::start_with(&options).await.unwrap();
    if !server.is_throw_away() || server.cluster().is_some() {
        return;
    }
    let db = observed(&server, "doubts").await;
    let marks = Mark::buckets(&db).await.unwrap();
    marks.append(&Mark { key: 1, n: 0 }).await.unwrap();
    let fail = doc! { "failCommands": ["update"], "closeConnection": true };
    let fail = doc! { "configureFailPoint": "failCommand", "mode": "alwaysOn", "data": fail };
    db.client()
        .database("admin")
        .run_command(fail)
        .await
        .unwrap();
    let failed = marks.append(&Mark { key: 1, n: 1 }).await.unwrap_err();
    assert!(failed.is_maybe_stored());
    assert_eq!(
        measured(&db, "bucket.client.doubts"),
        expected([("append", 1)])
    );
    let times = measured(&db, "db.client.operation.duration");
    assert_eq!(
        times,
        expected([("append", 1), ("append Io", 1), ("buckets", 1)])
    );
}

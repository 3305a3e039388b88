//! Buckets that expire: the server removes a bucket when its newest item is too old, and not before.

use std::time::Duration;

use bucket_ops::ProblemKind;
use bucket_runtime::{
    Bucket,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use bucket_testkit::Server;

use crate::support::{
    database::{Live, documents, items},
    ops,
    tasks::JoinSet,
};

macro_rules! readings {
    ($($name:ident($($span:literal)?))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(
            collection = "readings",
            id = "{sensor}_{at}",
            capacity = 4
            $(, expire_after = $span)?
        )]
        struct $name {
            sensor: i64,
            at: DateTime,
            value: i64,
        }
    )+};
}

readings! {
    In90Days("90d")
    In30Days("30d")
    Forever()
}

const DAY: i64 = 24 * 60 * 60 * 1000;

fn reading(sensor: i64, days_ago: i64, value: i64) -> In90Days {
    let now = DateTime::now().timestamp_millis();
    // Moments differ, and do not rise with the order of writing.
    let at = now - days_ago * DAY - (value * 7919) % 100_000;
    In90Days {
        sensor,
        at: DateTime::from_millis(at),
        value,
    }
}

/// Checks that each bucket's time for the server is the greatest time of its items.
async fn check_newest(db: &Database) -> usize {
    let buckets = documents(&db.collection::<Document>("readings")).await;
    for bucket in &buckets {
        let items = bucket.get_array("items").unwrap();
        let times = items.iter().map(|item| {
            let item = item.as_document().unwrap();
            *item.get_datetime("at").unwrap()
        });
        let newest = bucket.get_datetime("newest").unwrap();
        assert_eq!(Some(*newest), times.max(), "{bucket}");
    }
    buckets.len()
}

#[bucket_testkit::test]
async fn a_bucket_goes_when_its_newest_item_is_too_old_and_not_before() {
    // By default a server looks once a minute. Here it looks once all buckets are there.
    let often = ["--setParameter", "ttlMonitorSleepSecs=1"];
    let not_yet = ["--setParameter", "ttlMonitorEnabled=false"];
    let options = [often, not_yet].concat();
    let server = Server::start_with(&options).await.unwrap();
    let db = server.database("expiry_monitor").await.unwrap();
    db.drop().await.unwrap();

    let readings = In90Days::buckets(&db).await.unwrap();
    for (sensor, days_ago) in [(1, 100), (2, 100), (2, 91), (3, 100), (3, 80), (3, 100)] {
        let item = reading(sensor, days_ago, sensor);
        readings.append(&item).await.unwrap();
    }
    let look = doc! { "setParameter": 1, "ttlMonitorEnabled": true };
    let admin = readings.collection().client().database("admin");
    admin.run_command(look).await.unwrap();
    while readings.page_count(&1).await.unwrap() > 0 || readings.page_count(&2).await.unwrap() > 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // The server removed those buckets in one pass or two; a third pass comes after both.
    readings.append(&reading(4, 100, 4)).await.unwrap();
    while readings.page_count(&4).await.unwrap() > 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(items(&readings, &3).await.len(), 3);

    // The key's next item opens a new bucket.
    readings.append(&reading(1, 0, 5)).await.unwrap();
    assert_eq!(items(&readings, &1).await.len(), 1);
}

#[bucket_testkit::test]
async fn every_way_of_writing_keeps_the_time_of_the_newest_item(db: Live) {
    let readings = In90Days::buckets(&db).await.unwrap();
    let client = readings.collection().client().clone();

    // One by one, and then many that are combined.
    for value in 0..6 {
        readings.append(&reading(1, 0, value)).await.unwrap();
    }
    let mut tasks = JoinSet::new();
    for value in 0..200 {
        let readings = readings.clone();
        tasks.spawn(async move {
            let item = reading(value % 3, 1, value);
            readings.append(&item).await.unwrap();
        });
    }
    tasks.join_all().await;
    let count = check_newest(&db).await;
    assert!(count >= 50);

    // In a session, and in a transaction.
    let mut session = client.start_session().await.unwrap();
    for value in 0..12 {
        if value == 6 {
            session.start_transaction().await.unwrap();
        }
        let item = reading(5, 2, value);
        readings.append(&item).session(&mut session).await.unwrap();
    }
    session.commit_transaction().await.unwrap();
    assert_eq!(check_newest(&db).await, count + 3);

    // In bulk: into open buckets, and as whole buckets.
    let many = (0..500).map(|value| reading(value % 9, 3, value));
    readings.append_many(many).await.unwrap();
    let loaded = check_newest(&db).await;
    assert!(loaded > count + 103);

    // From a flat collection.
    let flat = db.collection::<Document>("flat");
    let documents = (0..60).map(|value| {
        let In90Days { sensor, at, value } = reading(20 + value % 4, 1, value);
        doc! { "sensor": sensor, "at": at, "value": value }
    });
    flat.insert_many(documents).await.unwrap();
    let import = ops(&readings).import_flat(&flat).sort(doc! { "value": 1 });
    import.await.unwrap();
    assert_eq!(check_newest(&db).await, loaded + 16);
}

/// The server removes buckets too seldom for this test, so another task removes them in its place.
#[bucket_testkit::test]
async fn appends_go_to_a_new_bucket_when_the_open_one_is_removed(db: Live) {
    let readings = In90Days::buckets(&db).await.unwrap();
    let remover = tokio::spawn({
        let buckets = readings.collection().clone();
        async move {
            loop {
                buckets.delete_many(doc! { "sensor": 1 }).await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let mut tasks = JoinSet::new();
    for writer in 0..16 {
        let readings = readings.clone();
        tasks.spawn(async move {
            let many = (0..40).map(|nth| reading(1, 0, writer * 1000 + nth));
            for item in many.clone() {
                readings.append(&item).await.unwrap();
            }
            readings.append_many(many).await.unwrap();
        });
    }
    while let Some(result) = tasks.join_next().await {
        result.unwrap();
        // Each bucket that is left begins with the item that its id came from.
        for bucket in documents(readings.collection()).await {
            let first = bucket.get_array("items").unwrap()[0].as_document().unwrap();
            let millis = first.get_datetime("at").unwrap().timestamp_millis();
            let id = bucket.get_str("_id").unwrap();
            assert!(id.starts_with(&format!("1_{}", millis / 1000)), "{bucket}");
            assert!(bucket.contains_key("newest"), "{bucket}");
        }
    }
    remover.abort();
}

#[bucket_testkit::test]
async fn another_span_or_none_is_refused_with_the_command_that_changes_it(db: Live) {
    let readings = In90Days::buckets(&db).await.unwrap();

    let error = In30Days::buckets(&db).await.unwrap_err();
    assert!(error.is_expiry_mismatch(), "{error}");
    let text = error.to_string();
    assert!(text.contains(r#"`expire_after = "7776000s"`"#), "{text}");
    let command = r#"db.runCommand({collMod: "readings", index: {name: "bucket_expiry", expireAfterSeconds: 2592000}})"#;
    assert!(text.contains(command), "{text}");
    let index = doc! { "name": "bucket_expiry", "expireAfterSeconds": 2_592_000 };
    let change = doc! { "collMod": "readings", "index": index };
    db.run_command(change).await.unwrap();
    In30Days::buckets(&db).await.unwrap();
    assert!(In90Days::buckets(&db).await.is_err());

    // A struct that knows nothing of expiry.
    let error = Forever::buckets(&db).await.unwrap_err();
    assert!(error.is_expiry_mismatch(), "{error}");
    let text = error.to_string();
    assert!(text.contains("drop the index `bucket_expiry`"), "{text}");
    let collection = readings.collection();
    collection.drop_index("bucket_expiry").await.unwrap();
    Forever::buckets(&db).await.unwrap();

    // An index with that name that removes nothing is not ours.
    let index = doc! { "key": { "newest": 1 }, "name": "bucket_expiry" };
    let create = doc! { "createIndexes": "readings", "indexes": [index] };
    db.run_command(create).await.unwrap();
    let error = In90Days::buckets(&db).await.unwrap_err();
    assert!(error.is_index_conflict(), "{error}");
    assert!(error.to_string().contains("`bucket_expiry`"), "{error}");
}

/// Without this time a bucket never expires, and with an old one the server removes it within the minute.
#[bucket_testkit::test]
async fn a_false_time_of_the_newest_item_is_found_and_repaired(db: Live) {
    let readings = In90Days::buckets(&db).await.unwrap();
    for sensor in 1..=3 {
        readings.append(&reading(sensor, 1, 1)).await.unwrap();
    }
    let sound = documents(readings.collection()).await;
    let raw = readings.collection().clone_with_type::<Document>();
    let future = DateTime::from_millis(4_000_000_000_000);
    let later = doc! { "$set": { "newest": future } };
    raw.update_one(doc! { "sensor": 1 }, later).await.unwrap();
    let none = doc! { "$unset": { "newest": "" } };
    raw.update_one(doc! { "sensor": 2 }, none).await.unwrap();
    let problems = ops(&readings).verify().await.unwrap().problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
    for (problem, kept) in problems.iter().zip(["new Date(4000000000000)", "null"]) {
        assert!(problem.is_repairable(), "{problem}");
        assert_eq!(problem.kind, ProblemKind::FalseRollup, "{problem}");
        let text = format!("another `newest` than {kept}");
        assert!(problem.to_string().contains(&text), "{problem}");
    }
    let done = ops(&readings).repair().await.unwrap();
    assert_eq!(done.repaired, [(ProblemKind::FalseRollup, 2)].into());
    assert_eq!(done.left, []);
    let mut repaired = documents(readings.collection()).await;
    repaired.sort_by_key(|bucket| bucket.get_i64("sensor").unwrap());
    for (bucket, sound) in repaired.iter().zip(&sound) {
        assert_eq!(bucket.get("newest"), sound.get("newest"));
        assert_eq!(bucket.len(), sound.len());
    }
    check_newest(&db).await;
}

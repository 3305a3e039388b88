//! Claims of the guide (`compared_with`) about time series collections and TTL indexes, with the raw
//! driver alone.

use std::time::Duration;

use bucket_runtime::mongodb::{
    Collection, Database, IndexModel,
    bson::{DateTime, Document, doc},
    error::Error,
    options::{IndexOptions, TimeseriesGranularity, TimeseriesOptions},
};
use bucket_testkit::Server;

use super::refusal;
use crate::support::database::{Live, documents, number, wire_version};

async fn series(db: &Database) -> Collection<Document> {
    let options = TimeseriesOptions::builder()
        .time_field("at".to_owned())
        .meta_field("key".to_owned())
        .granularity(TimeseriesGranularity::Seconds)
        .build();
    let create = db.create_collection("series").timeseries(options);
    create.await.unwrap();
    db.collection("series")
}

fn measurement(n: i64) -> Document {
    doc! { "at": DateTime::from_millis(1_698_335_223_000 + n), "key": 1, "n": n }
}

/// The code with which the server refused.
fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> i32 {
    refusal(&result.unwrap_err()).0
}

#[bucket_testkit::test]
async fn a_time_series_has_no_transactions_no_unique_index_and_no_change_stream(db: Live) {
    let series = series(&db).await;
    let mut session = series.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let insert = series.insert_one(measurement(0)).session(&mut session);
    // OperationNotSupportedInTransaction
    assert_eq!(code(insert.await), 263);
    let _ = session.abort_transaction().await;
    let unique = IndexModel::builder()
        .keys(doc! { "n": 1 })
        .options(IndexOptions::builder().unique(true).build())
        .build();
    // InvalidOptions
    assert_eq!(code(series.create_index(unique).await), 72);
    // CommandNotSupportedOnView
    assert_eq!(code(series.watch().await.map(drop)), 166);
}

#[bucket_testkit::test]
async fn a_measurement_cannot_be_changed_or_removed_by_what_it_holds(db: Live) {
    let series = series(&db).await;
    series.insert_one(measurement(0)).await.unwrap();
    let update = series.update_many(doc! { "key": 1 }, doc! { "$set": { "n": 1 } });
    // InvalidOptions. From 7.0 on such deletes work.
    assert_eq!(code(update.await), 72);
    let deleted = series.delete_many(doc! { "n": 0 }).await;
    match wire_version().await {
        ..21 => assert_eq!(code(deleted), 72),
        _ => assert_eq!(deleted.unwrap().deleted_count, 1),
    }
}

#[bucket_testkit::test]
async fn the_server_decides_how_long_the_buckets_of_a_time_series_are(db: Live) {
    let series = series(&db).await;
    let all = (0..2500).map(measurement);
    series.insert_many(all).await.unwrap();
    let buckets = documents(&db.collection::<Document>("system.buckets.series")).await;
    assert_eq!(buckets.len(), 3);
    // A bucket that takes no more was compressed, and states how many measurements it holds.
    let closed = buckets.iter().filter_map(|bucket| {
        let control = bucket.get_document("control").unwrap();
        control.get("count")
    });
    assert!(closed.clone().count() >= 2, "{buckets:?}");
    assert!(closed.take(2).all(|count| number(Some(count)) == 1000));
}

#[bucket_testkit::test]
async fn a_time_index_over_items_goes_by_the_oldest_one() {
    let options = ["--setParameter", "ttlMonitorSleepSecs=1"];
    let server = Server::start_with(&options).await.unwrap();
    let db = server.database("claim_ttl_oldest").await.unwrap();
    db.drop().await.unwrap();
    let buckets = db.collection::<Document>("buckets");
    let now = DateTime::now().timestamp_millis();
    let days_ago = |days: i64| doc! { "at": DateTime::from_millis(now - days * 86_400_000) };
    let both = [100, 80].map(|oldest| doc! { "items": [days_ago(oldest), days_ago(0)] });
    buckets.insert_many(both).await.unwrap();
    let options = IndexOptions::builder().expire_after(Duration::from_secs(90 * 86_400));
    let index = IndexModel::builder().keys(doc! { "items.at": 1 });
    let index = index.options(options.build()).build();
    buckets.create_index(index).await.unwrap();
    while buckets.count_documents(doc! {}).await.unwrap() == 2 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let left = buckets.find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(left.get_array("items").unwrap()[0], days_ago(80).into());
}

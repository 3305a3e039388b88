//! Opening a collection with windows: its index, and other lengths.

use bucket_runtime::{
    Bucket,
    mongodb::bson::{DateTime, doc},
};

use crate::support::database::{Live, first_batch};

macro_rules! readings {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Bucket)]
        #[bucket(collection = "readings", id = $id, capacity = $capacity)]
        struct $name {
            sensor: i64,
            at: DateTime,
        }
    )+};
}

readings! {
    Hours("{sensor}_{at/1h}", 10)
    SixtyMinutes("{sensor}_{at/60m}", 10)
    TwoHours("{sensor}_{at/2h}", 10)
    LargeHours("{sensor}_{at/1h}", 20)
    Seconds("{sensor}_{at}", 10)
}

#[bucket_testkit::test]
async fn the_open_index_has_the_window_and_others_are_refused(db: Live) {
    let readings = Hours::buckets(&db).await.unwrap();
    let mut indexes = first_batch(&db, doc! { "listIndexes": "readings" }).await;
    indexes.retain(|index| {
        index
            .get_str("name")
            .is_ok_and(|name| name == "bucket_open")
    });
    let open = &indexes[0];
    let keys = doc! { "sensor": 1, "window": 1, "sealed": 1 };
    assert_eq!(open.get_document("key").unwrap(), &keys);
    assert!(open.get_bool("unique").unwrap());
    // The index states the length of the windows, and covers every window that has an id.
    let bound = open.get_document("partialFilterExpression").unwrap();
    let bound = bound.get_document("window").unwrap();
    let bound = bound.get_datetime("$gte").unwrap();
    assert_eq!(bound.timestamp_millis(), -10_000_000_000_000 - 3_600_000);
    SixtyMinutes::buckets(&db).await.unwrap();

    let error = TwoHours::buckets(&db).await.unwrap_err();
    assert!(error.is_window_mismatch(), "{error}");
    assert!(!error.is_index_conflict(), "{error}");
    let text = error.to_string();
    assert!(text.contains("windows of 3600 seconds"), "{text}");
    let error = LargeHours::buckets(&db).await.unwrap_err();
    assert!(error.is_capacity_mismatch(), "{error}");
    assert!(!error.is_window_mismatch(), "{error}");
    assert!(Seconds::buckets(&db).await.unwrap_err().is_index_conflict());
    readings.collection().drop().await.unwrap();

    Seconds::buckets(&db).await.unwrap();
    assert!(Hours::buckets(&db).await.unwrap_err().is_index_conflict());
}

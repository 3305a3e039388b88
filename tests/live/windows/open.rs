//! Opening a collection with windows: its index, and other lengths.

use bucket_runtime::{
    Bucket, Error,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
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

async fn refused<T: Bucket>(db: &Database) -> Error {
    T::buckets(db).await.unwrap_err()
}

#[bucket_testkit::test]
async fn the_open_index_has_the_window(db: Live) {
    let readings = Hours::buckets(&db).await.unwrap();
    let indexes = first_batch(&db, doc! { "listIndexes": "readings" }).await;
    let is_open = |index: &&Document| {
        index
            .get_str("name")
            .is_ok_and(|name| name == "bucket_open")
    };
    let open = indexes.iter().find(is_open).unwrap();
    let keys = doc! { "sensor": 1, "window": 1, "sealed": 1 };
    assert_eq!(open.get_document("key").unwrap(), &keys);
    assert!(open.get_bool("unique").unwrap());
    // The index states the length of the windows, and covers every window that has an id.
    let bound = open.get_document("partialFilterExpression").unwrap();
    let bound = bound.get_document("window").unwrap();
    let bound = bound.get_datetime("$gte").unwrap();
    assert_eq!(bound.timestamp_millis(), -10_000_000_000_000 - 3_600_000);
    drop(readings);
    SixtyMinutes::buckets(&db).await.unwrap();
}

#[bucket_testkit::test]
async fn other_windows_and_other_ids_are_refused(db: Live) {
    let readings = Hours::buckets(&db).await.unwrap();
    let error = refused::<TwoHours>(&db).await;
    assert!(
        error.is_window_mismatch() && !error.is_index_conflict(),
        "{error}"
    );
    assert!(
        error.to_string().contains("windows of 3600 seconds"),
        "{error}"
    );
    let error = refused::<LargeHours>(&db).await;
    assert!(
        error.is_capacity_mismatch() && !error.is_window_mismatch(),
        "{error}"
    );
    assert!(refused::<Seconds>(&db).await.is_index_conflict());
    readings.collection().drop().await.unwrap();

    Seconds::buckets(&db).await.unwrap();
    assert!(refused::<Hours>(&db).await.is_index_conflict());
}

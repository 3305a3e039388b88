//! A change of the capacity that is killed after it dropped the old index, and before it creates the new
//! one.

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Database,
        bson::{Document, doc},
    },
};
use futures_util::future::join_all;

use crate::{
    maintain::change_capacity::moves::{Timed7, Timed10, Timed25, Trade, is_sound, numbers},
    support::database::Live,
};

/// Leaves the collection as the killed call does, which has marked the buckets that it found open.
async fn killed_between_the_indexes(db: &Database, capacity: i32) {
    let trades = db.collection::<Document>("trades");
    let open = doc! { "count": { "$lt": 10 }, "sealed": { "$exists": false } };
    let mark = doc! { "$set": { "capacity": capacity } };
    trades.update_many(open, mark).await.unwrap();
    trades.drop_index("bucket_open").await.unwrap();
}

/// Appends at the same time, so that the items share commands.
async fn append_together<T: Trade>(trades: &Buckets<T>, numbers: std::ops::Range<i64>) {
    let items = Vec::from_iter(numbers.map(|n| T::new(1, n)));
    let appends = items.iter().map(|item| trades.append(item).into_future());
    for appended in join_all(appends).await {
        appended.unwrap();
    }
}

#[bucket_testkit::test]
async fn the_refused_appends_and_openings_name_the_call_that_goes_on(db: Live) {
    let old = Timed10::buckets(&db).await.unwrap();
    old.append_many((0..25).map(|n| Timed10::new(1, n)))
        .await
        .unwrap();
    killed_between_the_indexes(&db, 25).await;

    let error = old.append(&Timed10::new(1, 25)).await.unwrap_err();
    assert!(
        error.is_index_missing() && !error.is_maybe_stored(),
        "{error}"
    );
    assert!(error.to_string().contains("`change_capacity`"), "{error}");
    // The full buckets would be open ones.
    let error = Timed25::buckets(&db).await.unwrap_err();
    assert!(error.is_several_open(), "{error}");
    assert!(error.to_string().contains("`change_capacity`"), "{error}");

    Timed25::change_capacity(&db).await.unwrap();
    append_together(&old, 25..60).await;
    let trades = is_sound::<Timed25>(&db).await;
    let mut found = numbers(&trades, 1).await;
    found.sort_unstable();
    assert_eq!(found, Vec::from_iter(0..60), "G1");
}

/// Opening with the old capacity gives the change up.
#[bucket_testkit::test]
async fn opening_creates_the_index_again(db: Live) {
    let old = Timed10::buckets(&db).await.unwrap();
    old.append_many((0..25).map(|n| Timed10::new(1, n)))
        .await
        .unwrap();
    killed_between_the_indexes(&db, 25).await;
    let _ = Timed10::buckets(&db).await.unwrap();
    append_together(&old, 25..60).await;
    let trades = is_sound::<Timed10>(&db).await;
    let mut found = numbers(&trades, 1).await;
    found.sort_unstable();
    assert_eq!(found, Vec::from_iter(0..60), "G1");
}

/// A handle that still knows the greater capacity must not find the index that it knows.
#[bucket_testkit::test]
async fn a_handle_of_a_greater_capacity_follows_after_the_index_was_created_by_opening(db: Live) {
    let old = Timed25::buckets(&db).await.unwrap();
    append_together(&old, 0..5).await;
    killed_between_the_indexes(&db, 7).await;
    let _ = Timed7::buckets(&db).await.unwrap();
    append_together(&old, 5..40).await;
    let trades = is_sound::<Timed7>(&db).await;
    let mut found = numbers(&trades, 1).await;
    found.sort_unstable();
    assert_eq!(found, Vec::from_iter(0..40), "G1");
}

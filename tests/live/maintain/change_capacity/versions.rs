//! Both versions of a program, before and after a change.

use std::collections::BTreeMap;

use bucket_ops::Ops;
use bucket_runtime::{
    Buckets,
    mongodb::{Database, bson::Document},
};

use super::{
    Numbered4, Numbered10, Timed10, Timed25, Trade, Windowed10, Windowed25, is_refused, is_sound,
    stored,
};
use crate::support::database::{Live, dense, documents, fresh};

/// Appends 60 items through both handles in turn, one by one and several at once; returns the next number.
async fn append_in_turn<A: Trade, B: Trade>(
    first: &Buckets<A>,
    second: &Buckets<B>,
    n: i64,
) -> i64 {
    for n in (n..n + 30).step_by(2) {
        first.append(&A::new(1, n)).await.unwrap();
        second.append(&B::new(1, n + 1)).await.unwrap();
    }
    let many = |n| n..n + 15;
    let of_first = many(n + 30).map(|n| A::new(2, n));
    first.append_many(of_first).await.unwrap();
    let of_second = many(n + 45).map(|n| B::new(2, n));
    second.append_many(of_second).await.unwrap();
    n + 60
}

/// The later version's struct has another capacity. Whichever starts, it takes the collection's.
async fn both_start<V1: Trade, V2: Trade>(db: &Database) {
    let first = fresh::<V1>(db).await;
    assert!(V2::buckets(db).await.unwrap_err().is_capacity_mismatch());
    let second = V2::buckets(db).stored_capacity(true).await.unwrap();
    let next = append_in_turn(&first, &second, 0).await;
    let before = documents(first.collection()).await;
    dense::<V1>(before.clone());

    Ops::<V2>::of(db).change_capacity().await.unwrap();
    is_refused(&first, &V1::new(1, next)).await;
    is_refused(&second, &V2::new(1, next)).await;
    assert!(V1::buckets(db).await.unwrap_err().is_capacity_mismatch());
    let first = V1::buckets(db).stored_capacity(true).await.unwrap();
    let second = V2::buckets(db).stored_capacity(true).await.unwrap();
    let next = append_in_turn(&first, &second, next).await;
    // All new buckets have the new capacity, and the others are as they were, but for the seals.
    let by_id = |bucket: Document| (bucket.get_str("_id").unwrap().to_owned(), bucket);
    let mut new = BTreeMap::from_iter(documents(first.collection()).await.into_iter().map(by_id));
    for old in before {
        let mut now = new.remove(old.get_str("_id").unwrap()).unwrap();
        now.remove("sealed");
        assert_eq!(now, old);
    }
    dense::<V2>(new.into_values().collect());
    assert_eq!(stored(db).await, Vec::from_iter(0..next), "G1");
    is_sound::<V2>(db).await;
}

#[bucket_testkit::test]
async fn both_versions_start_before_and_after_the_change(db: Live) {
    both_start::<Timed10, Timed25>(&db).await;
    both_start::<Numbered10, Numbered4>(&db).await;
    both_start::<Windowed10, Windowed25>(&db).await;
}

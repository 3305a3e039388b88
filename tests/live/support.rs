//! Helpers of the tests. Each of the binaries uses a part of them.

#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "other binaries use the rest"
)]

pub(crate) mod database;
pub(crate) mod events;
pub(crate) mod fail_points;
pub(crate) mod notes;
pub(crate) mod outliers;
pub(crate) mod plans;
pub(crate) mod problems;
pub(crate) mod random;
pub(crate) mod runtime;
pub(crate) mod scale;
pub(crate) mod sharding;
pub(crate) mod tasks;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod transactions;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod visits;
pub(crate) mod zoo;

use bucket_ops::Ops;
use bucket_runtime::{Bucket, Buckets, Error};

/// Operations on the collection of this handle.
pub(crate) fn ops<T: Bucket>(buckets: &Buckets<T>) -> Ops<T> {
    Ops::in_collection(buckets.collection().clone())
}

/// Asserts that `verify` finds no problem in the collection of this handle.
pub(crate) async fn assert_sound<T: Bucket>(buckets: &Buckets<T>) {
    assert_eq!(ops(buckets).verify().await.unwrap().problems, []);
}

/// Asserts that the error is such a one, and says that nothing is stored.
#[track_caller]
pub(crate) fn assert_refused(error: &Error, is_such: fn(&Error) -> bool) {
    assert!(is_such(error) && !error.is_maybe_stored(), "{error}");
}

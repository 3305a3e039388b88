//! Changes of the capacity, and what they leave.

use bucket_runtime::{Bucket, Buckets, CapacityProgress, mongodb::Database};

use crate::support::database::{documents, number};

/// Changes the capacity to that of the struct.
pub(crate) async fn change<T: Bucket>(db: &Database, repack: bool) -> CapacityProgress {
    let done = T::change_capacity(db).repack(repack).await.unwrap();
    assert!(done.left.is_empty(), "{:?}", done.left);
    done
}

/// Each key, or window, has ceil(n / capacity) buckets, and no sealed bucket has room. A numbered key
/// may have an empty bucket at its end.
pub(crate) async fn is_dense<T: Bucket>(trades: &Buckets<T>) {
    let count = T::SPEC.count;
    let mut all = documents(trades.collection()).await;
    all.retain(|bucket| number(bucket.get(count)) > 0);
    for bucket in &all {
        let is_full = number(bucket.get(count)) == i64::from(T::SPEC.capacity);
        assert!(is_full || !bucket.contains_key("sealed"), "{bucket}");
    }
    for bucket in &mut all {
        bucket.remove("sealed");
    }
    crate::support::database::dense::<T>(all);
}

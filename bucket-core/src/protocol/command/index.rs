//! The open index: its keys, and the buckets that it holds.

use mongodb::bson::{DateTime, Document, doc};

use super::each_one;
use crate::schema::{
    names::SEALED,
    open_index::OpenIndex,
    spec::{BucketSpec, Ordinal},
};

/// The keys of the open index.
pub fn open_index_keys(spec: &BucketSpec) -> Document {
    let mut keys = each_one(spec.key_names().chain(spec.window_name()));
    keys.insert(SEALED, 1_i32);
    keys
}

/// Which buckets the open index holds.
pub(crate) fn open_index_filter(spec: &BucketSpec, open: OpenIndex) -> Document {
    let mut filter = doc! { spec.count: { "$lt": open.bound() } };
    if let (Some(name), Ordinal::Window { seconds }) = (spec.window_name(), spec.id.ordinal) {
        filter.insert(name, doc! { "$gte": before_all_windows(seconds.into()) });
    }
    filter
}

/// The moment one window before the first that ids can hold. As the bound of the open index it
/// excludes nothing, and shows the next opening how long the windows are.
pub fn before_all_windows(seconds: i64) -> DateTime {
    DateTime::from_millis(-(10_000_000_000 + seconds) * 1000)
}

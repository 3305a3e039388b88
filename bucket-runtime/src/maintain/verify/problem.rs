//! What breaks a guarantee, and the way out.

use std::fmt;

use mongodb::bson::Bson;

/// What breaks a guarantee in a collection of buckets; see [`Bucket::verify`](crate::Bucket::verify).
///
/// The text says which guarantee that is, and the way out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BucketProblem {
    /// G3: a key, or one of its time windows, has several open buckets.
    SeveralOpen {
        /// The key, as text for people: its fields, parted by commas.
        key: String,
        /// The `_id`s of the open buckets, the newest one last.
        buckets: Vec<Bson>,
    },
    /// G2: the count of a bucket is not the length of its array.
    WrongCount {
        /// The bucket's `_id`.
        bucket: Bson,
        /// How many items it holds.
        items: u64,
    },
    /// G2: a bucket holds more items than the capacity.
    OverFull {
        /// The bucket's `_id`.
        bucket: Bson,
        /// How many items it holds.
        items: u64,
    },
    /// G4, G5: the `_id` is none that a bucket of this key (and window) can have. No read finds it.
    ForeignId {
        /// The bucket's `_id`.
        bucket: Bson,
    },
    /// G3: `sealed` holds something else than the bucket's own `_id`, and may take the place of the
    /// open bucket in the index.
    WrongSeal {
        /// The bucket's `_id`.
        bucket: Bson,
    },
    /// G2: there is no array of items.
    NoArray {
        /// The document's `_id`.
        bucket: Bson,
    },
    /// G4: a field of the key, or the time window, is missing, or holds a value of another type.
    NoKey {
        /// The document's `_id`.
        bucket: Bson,
        /// The stored name of the field.
        field: &'static str,
    },
    /// What the bucket keeps about a field is not about all of its items.
    IncompleteRollup {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The stored name of the field.
        field: &'static str,
    },
    /// G1: an item cannot be read as the struct. Reads of its bucket fail, unless they
    /// [skip](crate::action::Items::skip_unreadable) it.
    Unreadable {
        /// The bucket's `_id`.
        bucket: Bson,
        /// How many items come before it in the bucket.
        place: u64,
        /// Why it cannot be read.
        error: String,
    },
    /// Two items of a bucket have the same value in the field that is `unique`.
    Twins {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The stored name of the field.
        field: &'static str,
    },
}

impl fmt::Display for BucketProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SeveralOpen { key, buckets } => write!(
                f,
                "G3: key {key} has {} open buckets; `repair` seals all but the newest",
                buckets.len()
            ),
            Self::WrongCount { bucket, items } => write!(
                f,
                "G2: bucket {bucket} holds {items} items, and its count says something else; \
                 `repair` counts them anew"
            ),
            Self::OverFull { bucket, items } => write!(
                f,
                "G2: bucket {bucket} holds {items} items, more than the capacity; `change_capacity` \
                 splits it"
            ),
            Self::ForeignId { bucket } => write!(
                f,
                "G4: the document with _id {bucket} has an id that no bucket of its key can have, \
                 so no read finds it; append its items anew and delete it, or move it to another \
                 collection"
            ),
            Self::WrongSeal { bucket } => write!(
                f,
                "G3: `sealed` of bucket {bucket} is not its own _id; `repair` sets it"
            ),
            Self::NoArray { bucket } => write!(
                f,
                "G2: the document with _id {bucket} has no array of items; move it to another \
                 collection"
            ),
            Self::NoKey { bucket, field } => write!(
                f,
                "G4: the document with _id {bucket} has no `{field}` that can be read; set the \
                 field, or move it to another collection"
            ),
            Self::IncompleteRollup { bucket, field } => write!(
                f,
                "the rollup of `{field}` in bucket {bucket} is not about all of its items; move \
                 its items into another collection with `append_stream`"
            ),
            Self::Unreadable {
                bucket,
                place,
                error,
            } => write!(
                f,
                "G1: item {place} (from 0) of bucket {bucket} cannot be read: {error}; correct it, \
                 or take it out with `remove_item(…).as_stored()`"
            ),
            Self::Twins { bucket, field } => write!(
                f,
                "G1: items of bucket {bucket} have the same `{field}`, which is `unique`; \
                 `remove_item` takes one of them out"
            ),
        }
    }
}

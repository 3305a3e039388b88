//! Problems that break a guarantee, and how to solve them.

use std::{fmt, slice};

use mongodb::bson::Bson;

/// A problem that breaks a guarantee in a collection of buckets; see
/// [`Bucket::verify`](crate::Bucket::verify).
///
/// The text says which guarantee it breaks, and what to do.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BucketProblem {
    /// G3: a key, or one of its time windows, has several open buckets.
    SeveralOpen {
        /// The key as readable text: its fields, separated by commas.
        key: String,
        /// The `_id`s of the open buckets, the newest last.
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
    /// G4, G5: no bucket of this key (and window) can have this `_id`. No read finds it.
    ForeignId {
        /// The bucket's `_id`.
        bucket: Bson,
    },
    /// G3: `sealed` is not the bucket's own `_id`, and may take the open bucket's place in the index.
    WrongSeal {
        /// The bucket's `_id`.
        bucket: Bson,
    },
    /// G2: there is no array of items.
    NoArray {
        /// The document's `_id`.
        bucket: Bson,
    },
    /// G4: a key field or the time window is missing, or has a value of another type.
    NoKey {
        /// The document's `_id`.
        bucket: Bson,
        /// The stored name of the field.
        field: &'static str,
    },
    /// The bucket's rollup of a field does not cover all its items.
    IncompleteRollup {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The stored name of the field.
        field: &'static str,
    },
    /// G1: the struct cannot read an item. Reads of its bucket fail, unless they
    /// [skip](crate::action::Items::skip_unreadable) it.
    Unreadable {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The number of items before it in the bucket.
        place: u64,
        /// Why it cannot be read.
        error: String,
    },
    /// Two items of a bucket have the same value in the `unique` field.
    Twins {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The stored name of the field.
        field: &'static str,
    },
}

impl BucketProblem {
    /// The kind as one word: the name of the variant.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SeveralOpen { .. } => "SeveralOpen",
            Self::WrongCount { .. } => "WrongCount",
            Self::OverFull { .. } => "OverFull",
            Self::ForeignId { .. } => "ForeignId",
            Self::WrongSeal { .. } => "WrongSeal",
            Self::NoArray { .. } => "NoArray",
            Self::NoKey { .. } => "NoKey",
            Self::IncompleteRollup { .. } => "IncompleteRollup",
            Self::Unreadable { .. } => "Unreadable",
            Self::Twins { .. } => "Twins",
        }
    }

    /// The `_id`s of the documents that it concerns.
    pub fn ids(&self) -> &[Bson] {
        match self {
            Self::SeveralOpen { buckets, .. } => buckets,
            Self::WrongCount { bucket, .. }
            | Self::OverFull { bucket, .. }
            | Self::ForeignId { bucket, .. }
            | Self::WrongSeal { bucket, .. }
            | Self::NoArray { bucket, .. }
            | Self::NoKey { bucket, .. }
            | Self::IncompleteRollup { bucket, .. }
            | Self::Unreadable { bucket, .. }
            | Self::Twins { bucket, .. } => slice::from_ref(bucket),
        }
    }

    /// The key as readable text, where the problem names it.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::SeveralOpen { key, .. } => Some(key),
            _ => None,
        }
    }

    /// Whether [`repair`](crate::Bucket::repair) solves it.
    pub fn is_repairable(&self) -> bool {
        matches!(
            self,
            Self::SeveralOpen { .. } | Self::WrongCount { .. } | Self::WrongSeal { .. }
        )
    }

    /// What [`repair`](crate::Bucket::repair) does about it, such as "seals all but the newest"; otherwise
    /// what to do, such as "`change_capacity` splits it".
    pub fn remedy(&self) -> String {
        let remedy = match self {
            Self::SeveralOpen { .. } => "seals all but the newest",
            Self::WrongCount { .. } => "corrects it",
            Self::WrongSeal { .. } => "sets it",
            Self::OverFull { .. } => "`change_capacity` splits it",
            Self::ForeignId { .. } => {
                "append its items again and delete it, or move it to another collection"
            }
            Self::NoArray { .. } => "move the document to another collection",
            Self::NoKey { .. } => "set the field, or move the document to another collection",
            Self::IncompleteRollup { .. } => {
                "move its items into another collection with `append_stream`"
            }
            Self::Unreadable { .. } => "correct it, or remove it with `remove_item(…).as_stored()`",
            Self::Twins { .. } => "`remove_item` removes one of them",
        };
        remedy.to_owned()
    }
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
                "G2: bucket {bucket} holds {items} items, but its count differs; `repair` corrects \
                 it"
            ),
            Self::OverFull { bucket, items } => write!(
                f,
                "G2: bucket {bucket} holds {items} items, more than the capacity; `change_capacity` \
                 splits it"
            ),
            Self::ForeignId { bucket } => write!(
                f,
                "G4: the document with _id {bucket} has an id that no bucket of its key can have, \
                 so no read finds it; append its items again and delete it, or move it to another \
                 collection"
            ),
            Self::WrongSeal { bucket } => write!(
                f,
                "G3: `sealed` of bucket {bucket} is not its own _id; `repair` sets it"
            ),
            Self::NoArray { bucket } => write!(
                f,
                "G2: the document with _id {bucket} has no array of items; move the document to \
                 another collection"
            ),
            Self::NoKey { bucket, field } => write!(
                f,
                "G4: the document with _id {bucket} has no readable `{field}`; set the field, or \
                 move the document to another collection"
            ),
            Self::IncompleteRollup { bucket, field } => write!(
                f,
                "the rollup of `{field}` in bucket {bucket} does not cover all its items; move \
                 its items into another collection with `append_stream`"
            ),
            Self::Unreadable {
                bucket,
                place,
                error,
            } => write!(
                f,
                "G1: item {place} (from 0) of bucket {bucket} cannot be read: {error}; correct it, \
                 or remove it with `remove_item(…).as_stored()`"
            ),
            Self::Twins { bucket, field } => write!(
                f,
                "G1: items of bucket {bucket} have the same value in the `unique` field `{field}`; \
                 `remove_item` removes one of them"
            ),
        }
    }
}

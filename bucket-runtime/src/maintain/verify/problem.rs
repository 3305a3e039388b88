//! Problems that break a guarantee, and how to solve them.

mod text;

use std::slice;

use mongodb::bson::{Bson, DateTime};

/// A problem that breaks a guarantee in a collection of buckets; see
/// [`Bucket::verify`](crate::Bucket::verify).
///
/// Its text says which guarantee it breaks, where, and what to do; the methods give the same to programs:
///
/// ```
/// use bucket_runtime::BucketProblem;
///
/// fn report(problem: &BucketProblem) {
///     if problem.is_repairable() {
///         println!("{}: `repair` {}", problem.kind(), problem.remedy());
///     } else {
///         println!("{problem}");
///     }
/// }
/// ```
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
        /// The bucket's key.
        key: String,
        /// How many items it holds.
        items: u64,
    },
    /// G2: a bucket holds more items than the capacity, which has never changed.
    OverFull {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
        /// How many items it holds.
        items: u64,
    },
    /// G4, G5: no bucket of this key (and window) can have this `_id`. No read of the key finds it.
    ForeignId {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
    },
    /// G3: `sealed` is not the bucket's own `_id`, and may take the open bucket's place in the index.
    WrongSeal {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
    },
    /// G2: there is no array of items.
    NoArray {
        /// The document's `_id`.
        bucket: Bson,
        /// The document's key.
        key: String,
        /// The stored name of the array.
        array: &'static str,
    },
    /// G4: a key field or the time window is missing, or has a value of another type.
    NoKey {
        /// The document's `_id`.
        bucket: Bson,
        /// The stored name of the field.
        field: &'static str,
    },
    /// The bucket's rollup of a field does not cover all its items: they were stored before the field was
    /// marked, or by another program. Reads of the rollup fail.
    IncompleteRollup {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
        /// The stored name of the field.
        field: &'static str,
    },
    /// A part of the bucket's rollup of a field is not that of its items, or has another type than the
    /// field: another program changed it, or the items.
    FalseRollup {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
        /// The stored name of the field.
        field: &'static str,
        /// The part: `sum`, `min`, `max`, or `missing` for the number of items without a value; or `newest`, the
        /// time of the newest item, after which the server removes the bucket.
        part: &'static str,
        /// The stored value; `Null` if nothing is stored.
        stored: Bson,
    },
    /// The bucket's rollup holds a value to which the server cannot add, so it refuses each further append
    /// to the bucket.
    BlockedRollup {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
        /// The stored name of the field.
        field: &'static str,
        /// The path of the value.
        path: String,
        /// The stored value at this path.
        stored: Bson,
    },
    /// The bucket's rollup of a field is not that of its items, and cannot be computed from them: a sum would
    /// exceed 64 bits or 34 digits, or a decimal is not a number.
    NoRollup {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
        /// The stored name of the field.
        field: &'static str,
    },
    /// An item lies outside its bucket's time window, so reads by time miss it.
    OutsideWindow {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
        /// The number of items before it in the bucket.
        place: u64,
        /// The item's time.
        time: DateTime,
    },
    /// G5: the numbers of a key's buckets (`{#}`) have a gap, so [`page`](crate::Buckets::page) gives `None`
    /// for a page that others follow. Another program removed some buckets, or a primary failed with a bucket that a
    /// writer had read and no majority had, in which no acknowledged item was. The numbers of a key may begin
    /// after 0, since [`remove_key`](crate::Buckets::remove_key) beside writers leaves the later ones.
    Gap {
        /// The key as readable text.
        key: String,
        /// The `_id`s of the two buckets beside the gap.
        beside: [Bson; 2],
        /// How many numbers are missing.
        missing: u64,
    },
    /// G1: the struct cannot read an item. Reads of its bucket fail, unless they
    /// [skip](crate::action::Items::skip_unreadable) it. The rollup of its bucket is not judged.
    Unreadable {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
        /// The number of items before it in the bucket.
        place: u64,
        /// Why it cannot be read.
        error: String,
    },
    /// G5, of the extras of a parent: a page is open, although later ones are not. The next item would go into it,
    /// and so come before theirs. Another program took items out of it.
    OpenBeforeLast {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
    },
    /// Two items of a bucket have the same value in the `unique` field.
    Twins {
        /// The bucket's `_id`.
        bucket: Bson,
        /// The bucket's key.
        key: String,
        /// The stored name of the field.
        field: &'static str,
    },
    /// An index that the struct needs is missing. Without `bucket_open`, nothing keeps a key from having
    /// several open buckets (G3).
    MissingIndex {
        /// The command of MongoDB's shell that creates it.
        command: String,
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
            Self::FalseRollup { .. } => "FalseRollup",
            Self::BlockedRollup { .. } => "BlockedRollup",
            Self::NoRollup { .. } => "NoRollup",
            Self::OutsideWindow { .. } => "OutsideWindow",
            Self::Gap { .. } => "Gap",
            Self::Unreadable { .. } => "Unreadable",
            Self::OpenBeforeLast { .. } => "OpenBeforeLast",
            Self::Twins { .. } => "Twins",
            Self::MissingIndex { .. } => "MissingIndex",
        }
    }

    /// The `_id`s of the documents that it concerns.
    pub fn ids(&self) -> &[Bson] {
        match self {
            Self::SeveralOpen { buckets, .. } => buckets,
            Self::Gap { beside, .. } => beside,
            Self::MissingIndex { .. } => &[],
            Self::WrongCount { bucket, .. }
            | Self::OverFull { bucket, .. }
            | Self::ForeignId { bucket, .. }
            | Self::WrongSeal { bucket, .. }
            | Self::NoArray { bucket, .. }
            | Self::NoKey { bucket, .. }
            | Self::IncompleteRollup { bucket, .. }
            | Self::FalseRollup { bucket, .. }
            | Self::BlockedRollup { bucket, .. }
            | Self::NoRollup { bucket, .. }
            | Self::OutsideWindow { bucket, .. }
            | Self::Unreadable { bucket, .. }
            | Self::OpenBeforeLast { bucket, .. }
            | Self::Twins { bucket, .. } => slice::from_ref(bucket),
        }
    }

    /// The key as readable text: its fields, separated by commas. `None` where no key can be read, or where
    /// the whole collection is concerned.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::SeveralOpen { key, .. }
            | Self::WrongCount { key, .. }
            | Self::OverFull { key, .. }
            | Self::ForeignId { key, .. }
            | Self::WrongSeal { key, .. }
            | Self::NoArray { key, .. }
            | Self::IncompleteRollup { key, .. }
            | Self::FalseRollup { key, .. }
            | Self::BlockedRollup { key, .. }
            | Self::NoRollup { key, .. }
            | Self::OutsideWindow { key, .. }
            | Self::Gap { key, .. }
            | Self::Unreadable { key, .. }
            | Self::OpenBeforeLast { key, .. }
            | Self::Twins { key, .. } => Some(key),
            Self::NoKey { .. } | Self::MissingIndex { .. } => None,
        }
    }

    /// Whether [`repair`](crate::Bucket::repair) solves it.
    pub fn is_repairable(&self) -> bool {
        matches!(
            self,
            Self::SeveralOpen { .. }
                | Self::WrongCount { .. }
                | Self::WrongSeal { .. }
                | Self::OpenBeforeLast { .. }
                | Self::IncompleteRollup { .. }
                | Self::FalseRollup { .. }
                | Self::BlockedRollup { .. }
        )
    }

    /// The way in which [`repair`](crate::Bucket::repair) solves the problem, such as "seals all but the
    /// newest"; otherwise advice, such as "move the document to another collection".
    pub fn remedy(&self) -> String {
        let remedy = match self {
            Self::SeveralOpen { .. } => "seals all but the newest",
            Self::WrongCount { .. } => "corrects it",
            Self::WrongSeal { .. } => "sets it",
            Self::OpenBeforeLast { .. } => "seals it",
            Self::IncompleteRollup { .. }
            | Self::FalseRollup { .. }
            | Self::BlockedRollup { .. } => "computes it from the items",
            Self::OverFull { .. } => "`migrate_from` divides its items anew, in another collection",
            Self::ForeignId { .. } => {
                "append its items again and delete it, or move it to another collection (`import_flat` reads items \
                 of buckets by hand)"
            }
            Self::NoArray { .. } => "move the document to another collection",
            Self::NoKey { .. } => "set the field, or move the document to another collection",
            Self::NoRollup { .. } => "correct its items, or remove some with `remove_item`",
            Self::OutsideWindow { .. } => {
                "remove the item with `remove_item`, and append it again: it finds its window"
            }
            Self::Gap { .. } => {
                "import the missing buckets from an archive or a backup; until then read with \
                 `pages` or `items`, which pass the gap"
            }
            Self::Unreadable { .. } => {
                "correct the item, or remove it with `remove_item(…).as_stored()`"
            }
            Self::Twins { .. } => "`remove_item` removes one of them",
            Self::MissingIndex { command } => {
                return format!(
                    "open the collection with `buckets`, which creates it, or run {command}"
                );
            }
        };
        remedy.to_owned()
    }
}

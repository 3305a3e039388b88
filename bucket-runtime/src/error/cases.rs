//! Predicates that tell the kinds of errors apart in code.

use super::{Code, Kind, is_code};
use crate::Error;

impl Error {
    /// Whether the parent does not exist. Nothing was stored; or another call deleted the parent meanwhile,
    /// together with what this call had stored.
    pub fn is_not_found(&self) -> bool {
        matches!(self.0.kind, Kind::NoParent | Kind::ParentDeleted)
    }

    /// Whether a unique index of your own refused the item.
    pub fn is_duplicate(&self) -> bool {
        self.0.kind == Kind::Duplicate
    }

    /// Whether an index has the name of one of this library's indexes but another definition, for example
    /// since another struct keeps its buckets in the collection.
    pub fn is_index_conflict(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::ForeignIndex { .. } | Kind::OtherStruct { .. }
        )
    }

    /// Whether the collection to verify, repair or rebuild does not exist.
    pub fn is_collection_missing(&self) -> bool {
        self.0.kind == Kind::NoCollection
    }

    /// Whether the index `bucket_open` was missing when a call needed it, or the collection lacks indexes
    /// that opening was not to create, or that the user may not create.
    pub fn is_index_missing(&self) -> bool {
        matches!(self.0.kind, Kind::MissingIndex | Kind::MissingIndexes(_))
    }

    /// The commands of MongoDB's shell that create the indexes that the collection lacks, if that is the
    /// error.
    pub fn missing_indexes(&self) -> &[String] {
        match &self.0.kind {
            Kind::MissingIndexes(commands) => commands,
            _ => &[],
        }
    }

    /// Whether the user lacks a privilege that the call needs; the text names it. The server carried out
    /// nothing of the refused command.
    pub fn is_unauthorized(&self) -> bool {
        (self.driver()).is_some_and(|error| is_code(error, Code::Unauthorized))
    }

    /// Whether the collection was written with another `capacity` than the struct's, or the extras
    /// collection with another `extras_capacity`.
    pub fn is_capacity_mismatch(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::CapacityMismatch { .. } | Kind::ExtrasCapacityMismatch { .. }
        )
    }

    /// Whether the collection's buckets expire after another time than the struct says.
    pub fn is_expiry_mismatch(&self) -> bool {
        matches!(self.0.kind, Kind::ExpiryMismatch { .. })
    }

    /// Whether the collection was written with windows of another length than the struct's.
    pub fn is_window_mismatch(&self) -> bool {
        matches!(self.0.kind, Kind::WindowMismatch { .. })
    }

    /// Whether a key of the collection already has several open buckets, left by a writer that the index
    /// `bucket_open` did not guard.
    pub fn is_several_open(&self) -> bool {
        self.0.kind == Kind::SeveralOpen
    }

    /// Whether items of one key already have the same identity, so that `unique` cannot hold.
    pub fn is_not_unique(&self) -> bool {
        self.0.kind == Kind::NotUnique
    }

    /// Whether the collection compares text by a locale, under which different keys may be equal.
    pub fn is_collation(&self) -> bool {
        self.0.kind == Kind::Collation
    }

    /// Whether the item could not be written as BSON. Nothing was stored.
    pub fn is_serialize(&self) -> bool {
        self.0.kind == Kind::Serialize
    }

    /// Whether a stored document, or a line of an import, could not be read into the struct, also when a
    /// collection is opened with [`check_items(true)`](crate::action::OpenBuckets::check_items).
    pub fn is_deserialize(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::Deserialize(_)
                | Kind::UnreadableParent(_)
                | Kind::NamedTwice
                | Kind::ForeignId(_)
                | Kind::OtherItems(_)
                | Kind::FlatDocument(_)
                | Kind::Line(_)
                | Kind::GroupValue(..)
        )
    }

    /// Whether the item's time, or a bucket's number, does not fit into an id. Nothing was stored.
    pub fn is_out_of_range(&self) -> bool {
        matches!(self.0.kind, Kind::TimeOutOfRange(_) | Kind::IdsExhausted(_))
    }

    /// Whether the item is larger than a bucket may be ([`max_bytes`](macro@crate::Bucket#max_bytes)),
    /// or a document with it would exceed 16 MB. Nothing was stored.
    pub fn is_too_large(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::TooLarge
                | Kind::ItemTooLarge { .. }
                | Kind::NoRoom(_)
                | Kind::EditTooLarge { .. }
        )
    }

    /// Whether a field's value is longer than its `max_len`. Nothing was sent.
    pub fn is_too_long(&self) -> bool {
        matches!(self.0.kind, Kind::TooLong(_))
    }

    /// Whether a bucket's sum would exceed 64 bits with the item. Nothing was stored.
    pub fn is_sum_overflow(&self) -> bool {
        self.0.kind == Kind::SumOverflow
    }

    /// Whether the rollup of some bucket is missing or does not cover all its items: the bucket was
    /// written before the fields were marked, or by another program.
    pub fn is_incomplete_rollup(&self) -> bool {
        self.0.kind == Kind::IncompleteRollup
    }

    /// Whether an edit tried to change an item's key or time window, which decide the item's bucket, or
    /// its `unique` field. Nothing was stored.
    pub fn is_item_moved(&self) -> bool {
        matches!(self.0.kind, Kind::Moved(_))
    }

    /// Whether a key, or one of its time windows, has more buckets than one transaction can rewrite.
    pub fn is_key_too_large(&self) -> bool {
        self.0.kind == Kind::KeyTooLarge
    }

    /// Whether a key to import already has buckets. Nothing of that key was stored.
    pub fn is_key_taken(&self) -> bool {
        matches!(self.0.kind, Kind::KeyTaken(_))
    }

    /// Whether an item of the old collection was changed or removed after
    /// [`migrate_from`](crate::Bucket::migrate_from) had copied it.
    pub fn is_migrated_item_changed(&self) -> bool {
        matches!(self.0.kind, Kind::OldBucketChanged(_))
    }

    /// Whether the new collection of a [`migrate_from`](crate::Bucket::migrate_from) does not hold exactly
    /// what the old one holds.
    pub fn is_unverified(&self) -> bool {
        matches!(self.0.kind, Kind::Unverified { .. })
    }

    /// Whether another import or migration of the same collections is running.
    pub fn is_import_overtaken(&self) -> bool {
        self.0.kind == Kind::Overtaken
    }

    /// Whether the name of a view is taken by something else, or by a view with another definition.
    pub fn is_name_taken(&self) -> bool {
        matches!(self.0.kind, Kind::NameTaken { .. })
    }

    /// Whether the server lacks something that the call needs. A standalone server has no transactions
    /// and no change streams, and some servers other than MongoDB lack what the protocol is built on.
    /// Nothing was stored.
    pub fn is_unsupported(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::Standalone(_) | Kind::Unsupported(_) | Kind::NotSharded
        )
    }

    /// Whether the collection's shard key, existing or requested, does not let a shard see whether a key
    /// already has an open bucket.
    pub fn is_shard_key_conflict(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::ShardKey { .. } | Kind::NoWindowShardKey(_)
        )
    }

    /// Whether the collection's validator is not the struct's.
    pub fn is_validator_conflict(&self) -> bool {
        matches!(self.0.kind, Kind::OtherValidator { .. })
    }

    /// Whether the watched collection was dropped or renamed.
    pub fn is_collection_dropped(&self) -> bool {
        self.0.kind == Kind::Dropped
    }

    /// Whether the server's oplog no longer reaches back to the token that a watch was to resume after.
    pub fn is_history_lost(&self) -> bool {
        self.0.kind == Kind::HistoryLost
    }

    /// Whether an [`ItemToken`](crate::ItemToken) belongs to another key, filter, struct or collection than
    /// the read that it was given to.
    pub fn is_token_mismatch(&self) -> bool {
        self.0.kind == Kind::TokenMismatch
    }

    /// Whether other writers were faster so often that the call gave up. Nothing was stored.
    pub fn is_contended(&self) -> bool {
        matches!(self.0.kind, Kind::Contended(_))
    }
}

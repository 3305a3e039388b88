//! Which case an error is, for code.

use super::Kind;
use crate::Error;

impl Error {
    /// Whether there is no such parent. Nothing was stored.
    pub fn is_not_found(&self) -> bool {
        self.0.kind == Kind::NoParent
    }

    /// Whether a unique index of your own refused the item.
    pub fn is_duplicate(&self) -> bool {
        self.0.kind == Kind::Duplicate
    }

    /// Whether the index `bucket_open` is missing, or an index has the name of one that this library
    /// makes and is another one.
    pub fn is_index_conflict(&self) -> bool {
        matches!(self.0.kind, Kind::MissingIndex | Kind::ForeignIndex { .. })
    }

    /// Whether the collection was written with another capacity than the struct now has, or that of
    /// the extras with another `extras_capacity`.
    pub fn is_capacity_mismatch(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::CapacityMismatch { .. } | Kind::ExtrasCapacityMismatch { .. }
        )
    }

    /// Whether the buckets of the collection expire after another time than the struct now says.
    pub fn is_expiry_mismatch(&self) -> bool {
        matches!(self.0.kind, Kind::ExpiryMismatch { .. })
    }

    /// Whether the collection was written with windows of another length than the struct now has.
    pub fn is_window_mismatch(&self) -> bool {
        matches!(self.0.kind, Kind::WindowMismatch { .. })
    }

    /// Whether a key of the collection has several open buckets already, left by a writer that was
    /// not guarded by the index `bucket_open`.
    pub fn is_several_open(&self) -> bool {
        self.0.kind == Kind::SeveralOpen
    }

    /// Whether items of a key have the same identity already, so that `unique` cannot hold.
    pub fn is_not_unique(&self) -> bool {
        self.0.kind == Kind::NotUnique
    }

    /// Whether the collection compares text by a locale, so that different keys may be equal to it.
    pub fn is_collation(&self) -> bool {
        self.0.kind == Kind::Collation
    }

    /// Whether the item could not be written as BSON. Nothing was stored.
    pub fn is_serialize(&self) -> bool {
        self.0.kind == Kind::Serialize
    }

    /// Whether a stored document could not be read as the struct says.
    pub fn is_deserialize(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::Deserialize(_) | Kind::ForeignId(_) | Kind::FlatDocument(_)
        )
    }

    /// Whether the item's time, or a bucket's number, does not fit into an id. Nothing was stored.
    pub fn is_out_of_range(&self) -> bool {
        matches!(self.0.kind, Kind::TimeOutOfRange(_) | Kind::IdsExhausted(_))
    }

    /// Whether the item is larger than a bucket may be ([`max_bytes`](macro@crate::Bucket#max_bytes)), or
    /// a document with it would exceed 16 MB. Nothing was stored.
    pub fn is_too_large(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::TooLarge | Kind::ItemTooLarge { .. } | Kind::NoRoom(_)
        )
    }

    /// Whether a field's value was longer than its `max_len`; nothing was sent.
    pub fn is_too_long(&self) -> bool {
        matches!(self.0.kind, Kind::TooLong(_))
    }

    /// Whether the sum that a bucket keeps would exceed 64 bits with the item. Nothing was stored.
    pub fn is_sum_overflow(&self) -> bool {
        self.0.kind == Kind::SumOverflow
    }

    /// Whether some bucket does not keep what is to be added up, or not of all of its items: it was
    /// written before the fields were marked so, or by another program.
    pub fn is_incomplete_rollup(&self) -> bool {
        self.0.kind == Kind::IncompleteRollup
    }

    /// Whether an edit was to change the key of an item, or its time window, which say in which
    /// bucket it lies, or what is `unique` in it. Nothing was stored.
    pub fn is_item_moved(&self) -> bool {
        matches!(self.0.kind, Kind::Moved(_))
    }

    /// Whether a key, or a time window of one, has more buckets than can be rewritten at once.
    pub fn is_key_too_large(&self) -> bool {
        self.0.kind == Kind::KeyTooLarge
    }

    /// Whether a key that was to be imported has buckets already. Nothing of it was stored.
    pub fn is_key_taken(&self) -> bool {
        matches!(self.0.kind, Kind::KeyTaken(_))
    }

    /// Whether another import of the same collections is under way.
    pub fn is_import_overtaken(&self) -> bool {
        self.0.kind == Kind::Overtaken
    }

    /// Whether the name of a view is taken by something else, or by a view that is made otherwise.
    pub fn is_name_taken(&self) -> bool {
        matches!(self.0.kind, Kind::NameTaken { .. })
    }

    /// Whether the server lacks something that the call needs: a standalone server has no transactions
    /// and no change streams, and some servers that are not MongoDB lack what the protocol stands on.
    /// Nothing was stored.
    pub fn is_unsupported(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::Standalone(_) | Kind::Unsupported(_) | Kind::NotSharded
        )
    }

    /// Whether the collection is sharded by fields, or is to be, by which no shard could see whether a
    /// key has an open bucket already.
    pub fn is_shard_key_conflict(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::ShardKey { .. } | Kind::NoWindowShardKey(_)
        )
    }

    /// Whether the collection has another validator than that of the struct.
    pub fn is_validator_conflict(&self) -> bool {
        matches!(self.0.kind, Kind::OtherValidator { .. })
    }

    /// Whether the collection that is watched was dropped or renamed.
    pub fn is_collection_dropped(&self) -> bool {
        self.0.kind == Kind::Dropped
    }

    /// Whether the server does not remember any more what came after the token that a watch was to
    /// resume after: its oplog is shorter than that.
    pub fn is_history_lost(&self) -> bool {
        self.0.kind == Kind::HistoryLost
    }

    /// Whether others were faster so many times that the call gave up. Nothing was stored.
    pub fn is_contended(&self) -> bool {
        matches!(self.0.kind, Kind::Contended(_))
    }
}

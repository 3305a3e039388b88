//! The kinds of errors: one table of predicates, kinds and texts.

use crate::{
    Error,
    error::text::{expiry_mismatch, foreign_index, shell_call},
    schema::{
        names::{OPEN_INDEX, UNIQUE_INDEX},
        size::TooLong,
        spec::MAX_BYTES,
    },
};

/// Makes `Kind`, the text of each kind, and the predicates that tell the kinds apart in code.
macro_rules! kinds {
    ($collection:ident; $(
        $(#[$told:meta])+
        $visibility:vis fn $predicate:ident {$(
            $(#[$doc:meta])*
            $kind:ident $(($($value:ident: $of:ty),+))? $({ $($field:ident: $type:ty),+ })?
                => $text:literal $(, $argument:expr)*;
        )+}
    )+) => {
        /// The kinds of errors.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the text of each says what it is")]
        pub enum Kind {$($(
            $(#[$doc])* $kind $(($($of),+))? $({ $($field: $type),+ })?,
        )+)+}

        impl Kind {
            /// The mistake or failure, and the remedy.
            pub(super) fn text(&self, $collection: &str) -> String {
                match self {$($(
                    Self::$kind $(($($value),+))? $({ $($field),+ })? => format!($text $(, $argument)*),
                )+)+}
            }
        }

        impl Error {$(
            $(#[$told])+
            $visibility fn $predicate(&self) -> bool {
                matches!(self.0.kind, $(Kind::$kind { .. })|+)
            }
        )+}

        /// The predicates, each with the kinds that it is about.
        #[cfg(test)]
        pub(super) const TABLE: &[(&str, fn(&Error) -> bool, &[&str])] =
            &[$((stringify!($predicate), Error::$predicate, &[$(stringify!($kind)),+])),+];
    };
}

impl Kind {
    /// The kind of a value that cannot be written. `bson` writes no binary value of more than 16
    /// MB.
    pub fn of_unwritten(refusal: &dyn std::error::Error) -> Self {
        match refusal.to_string().contains("exceeded maximum size") {
            true => Self::TooLarge,
            false => Self::Serialize,
        }
    }
}

// A row is a kind with its values, and its text; some texts name the collection in a command. The
// rows stand under the predicate that is true of them.
kinds! { collection;
    /// Whether the text itself says that the call may have been carried out.
    pub(super) fn has_doubt_in_text {
        /// The driver or the server failed.
        Driver => "the call failed; fix the cause and repeat the call";
        Stopped =>
            "the tokio runtime that was sending the item has ended, and the item may have been stored; \
             check before you repeat it";
    }

    /// Whether the parent does not exist. Nothing was stored; or another call deleted the parent
    /// meanwhile, together with what this call had stored.
    pub fn is_not_found {
        NoParent => "the parent does not exist, so nothing was stored; insert it, then push";
        ParentDeleted =>
            "the parent was deleted during the call, together with the items that the call had stored; \
             insert it again with all of its items if it should exist";
    }

    /// Whether there was a parent with this id before the call, which has stored nothing. An
    /// earlier insertion that failed in [doubt](crate::Error::is_maybe_stored) may have stored it.
    pub fn is_already_there {
        ParentThere =>
            "a parent with this id was there before, so this one was not stored; push to it, or delete it first \
             if this one is to replace it";
    }

    /// Whether a unique index of your own refused the item.
    pub fn is_duplicate {
        Duplicate => "a unique index of the collection refused the item";
    }

    /// Whether an index has the name of one of this library's indexes but another definition, for
    /// example since another struct keeps its buckets in the collection; or whether the collection
    /// keeps something that the struct does not know: a `unique` field, a rollup, or a parent's
    /// total.
    pub fn is_index_conflict {
        /// An index with one of our names, and its definition as text.
        ForeignIndex { name: String, is: String } => "{}", foreign_index(name, is);
        /// The open index is that of another struct: the fields by which it keeps its buckets.
        OtherStruct { by: String } =>
            "another struct keeps its buckets here, by {by}; give this struct a collection of its own";
        /// The struct's part in it, and the shell's call of the collection that ends it.
        KnowsLess { keeps: String, add: &'static str, remove: String } =>
            "the collection keeps {keeps}, and this struct would not; {add}, or, if no program needs it any more, \
             end it with {}",
            shell_call(collection, remove);
    }

    /// Whether the collection to verify, repair or rebuild does not exist.
    pub fn is_collection_missing {
        NoCollection =>
            "the collection does not exist; name the right database and collection, or open the collection \
             with `buckets`, which creates it";
    }

    /// Whether the index `bucket_open` was missing when a call needed it, or the collection lacks
    /// indexes that opening was not to create, or that the user may not create.
    pub fn is_index_missing {
        MissingIndex =>
            "the index `{OPEN_INDEX}` of this handle's capacity is missing or hidden; open the collection again with \
             `buckets` or `outliers`; if that fails, too, the capacity is changing, and `change_capacity` finishes \
             what was interrupted";
        /// The commands that create the indexes.
        MissingIndexes(commands: Vec<String>) =>
            "the collection lacks indexes; create them in MongoDB's shell, or open the collection as a user \
             with the privilege `createIndex` and without `create_indexes(false)`: {}",
            commands.join("; ");
    }

    /// Whether the collection was written with another `capacity` than the struct's, or the extras
    /// collection with another `extras_capacity`.
    pub fn is_capacity_mismatch {
        CapacityMismatch { stored: i64, derived: u32 } =>
            "the collection was written with capacity {stored}, but the struct says {derived}; write \
             `capacity = {stored}`, or open it with `stored_capacity(true)`, or change the collection with the struct's \
             `change_capacity`, or `change-capacity` on its command line";
        /// The capacity of an outlier's extras cannot change.
        ExtrasCapacityMismatch { stored: i64, derived: u32 } =>
            "the extras collection was made with capacity {stored}, but the struct says {derived}; write \
             `extras_capacity = {stored}`, or drop the collection if it holds no extras";
    }

    /// Whether the collection's buckets expire after another time than the struct says.
    pub fn is_expiry_mismatch {
        /// Both in seconds.
        ExpiryMismatch { stored: u64, derived: Option<u64> } =>
            "{}", expiry_mismatch(*stored, *derived, collection);
    }

    /// Whether the collection was written with windows of another length than the struct's, or a
    /// range of windows begins or ends inside of one.
    pub fn is_window_mismatch {
        /// Both in seconds.
        WindowMismatch { stored: i64, derived: u32 } =>
            "the collection was written with windows of {stored} seconds, but the struct says {derived}; \
             write `/{stored}s` in the id format, or move the items into another collection with \
             `append_stream`";
        /// The bound, as RFC 3339.
        InsideWindow(time: String) =>
            "{time} is not the start of a time window, and `windows` takes only whole ones; take a condition on the time, \
             with `filter` for a rollup and `holding` for an export";
    }

    /// Whether a key of the collection already has several open buckets, left by a writer that the
    /// index `bucket_open` did not guard.
    pub fn is_several_open {
        SeveralOpen =>
            "the index `{OPEN_INDEX}` cannot be created because a key has several open buckets; the struct's `repair`, \
             or `repair` on its command line, seals all but the newest (by hand, set `sealed` to the bucket's own \
             `_id`); if a `change_capacity` was interrupted, call it again instead";
    }

    /// Whether items of one key, or of one parent, already have the same identity, so that `unique`
    /// cannot hold.
    pub fn is_not_unique {
        NotUnique =>
            "the index `{UNIQUE_INDEX}` cannot be created because two buckets of one key hold items with the \
             same value in the `unique` field; remove one of the two items";
        /// The identity.
        Twins(identity: String) =>
            "several items of the parent have the identity {identity}, so nothing was changed; `verify` says where \
             they are; keep one of them, and call again";
    }

    /// Whether the collection compares text by a locale, under which different keys may be equal.
    pub fn is_collation {
        Collation =>
            "the collection has its own collation, under which different keys may compare equal; use a \
             collection with the simple collation";
    }

    /// Whether the item, or the parent, could not be written as BSON, or would not be read as it
    /// was written: a flattened field holds the name of another one, or a `Document`, `Bson` or map
    /// holds a document that serde takes for a value of another type, such as `{ "$oid": … }` (a
    /// `RawDocumentBuf` or a `serde_json::Value` takes every document). Nothing was stored.
    pub fn is_serialize {
        Serialize => "the item cannot be written as BSON";
    }

    /// Whether a stored document, or a line of an import, could not be read into the struct, also
    /// when a collection is opened with
    /// `OpenBuckets::check_items(true)`.
    pub fn is_deserialize {
        /// The document's id, as the shell writes it.
        Deserialize(id: String) => "the document with _id {id} is not a bucket of this struct";
        /// The parent's id, as the shell writes it.
        UnreadableParent(id: String) =>
            "the parent with _id {id} is not one of this struct; correct it (`verify` lists all such parents)";
        /// No value of the driver can hold a document with a name twice.
        NamedTwice =>
            "the item holds a document with a name twice, and an edit would write only one of the two; \
             nothing was changed: remove the item with `remove_item`, and append it with other names";
        /// An id that no bucket of this format can have, as the shell writes it.
        ForeignId(id: String) =>
            "the document with _id {id} sorts among the key's buckets, but none of this struct can have that id: move \
             it to another collection or, if the struct's id format has changed, write the former one";
        /// The id of an extras document, as the shell writes it.
        ForeignExtras(id: String) =>
            "another program stored the extras document with _id {id}; move its items to documents of this library's \
             with the struct's `repair`, or `repair` on its command line";
        /// The id of a bucket, as the shell writes it.
        NoKeyInId(id: String) =>
            "the event of an append names the bucket only by its _id {id}, from which no key of this struct can be \
             read; move a document that is not a bucket to another collection, and implement \
             `KeyField::from_id_text` for a key type of your own";
        /// The id of a bucket with an item that cannot be read, as the shell writes it.
        OtherItems(id: String) =>
            "this struct cannot read the items of the bucket with _id {id}: another struct keeps its buckets \
             here, or a field changed; give this struct a collection of its own, let it read its older items, \
             or open it without `check_items`";
        /// The document's id, as the shell writes it.
        NotOurId(id: String) =>
            "no bucket of this struct can have the _id {id}, so reads of its key would not find the document; give \
             the struct a collection of its own, and import the items from this one, flat or in buckets by hand, \
             as the guide of `bucket-ops` says in \"Importing\"";
        FlatDocument(id: String) =>
            "the flat document with _id {id} is not an item of this struct; correct or remove it (a dry run lists all \
             of them before anything is written), then call `import_flat` again to continue, or leave it out with \
             `skip_unreadable`";
        /// The line's number in an import.
        Line(number: u64) =>
            "line {number} could not be read; remove the cause, then import all lines again: what is there is \
             left as it is";
    }

    /// Whether the item's time, or a bucket's number, does not fit into an id. Nothing was stored.
    pub fn is_out_of_range {
        TimeOutOfRange(time: String) =>
            "the time {time} has more digits than an id can hold; correct the item";
        /// The last id of the moment or the key.
        IdsExhausted(id: String) => "no id is left after {id:?}";
    }

    /// Whether the item is larger than a bucket may be (`max_bytes`), or a document with it would
    /// exceed 16 MB; whether a load in a session has more than one transaction takes; or whether a
    /// [`Filter`](crate::protocol::filter::Filter) is larger than a request. Nothing was stored.
    pub fn is_too_large {
        TooLarge =>
            "the document would exceed 16 MB with this item; if the item alone is smaller, another program \
             has filled the bucket: seal it by setting `sealed` to its own `_id`, and send the item again";
        ItemTooLarge { bytes: usize, most: i64, max: u32 } =>
            "the item takes {bytes} bytes, but with `max_bytes = {max}` none may take more than {most}; store \
             large data elsewhere (in GridFS, say), or raise `max_bytes`, to {MAX_BYTES} at most";
        /// The size of the item after the edit.
        NoRoom(bytes: usize) =>
            "the item would take {bytes} bytes and its bucket would exceed `max_bytes`; nothing was changed: \
             remove the item and append the new one";
        /// The size of the parent after the update.
        ParentTooLarge(bytes: i64) =>
            "the parent would take {bytes} bytes, which exceeds `max_bytes`; nothing was changed: store large data \
             elsewhere, or raise `max_bytes`, to {MAX_BYTES} at most";
        FilterTooLarge =>
            "the filter takes more than 16 MB or nests deeper than 45 levels, so nothing was sent; make several calls, \
             each with a part of its values or conditions";
        LoadTooLarge { bytes: usize, keys: usize } =>
            "in a session, a load may take {bytes} bytes and have {keys} keys (or time windows) at most, since it is \
             one transaction; nothing was sent: append it without the session, or in several parts";
        EditTooLarge { bytes: usize, most: usize } =>
            "the matching items of one bucket take {bytes} bytes, old and new together, but a command holds \
             {most}; nothing of this bucket was changed: use a narrower filter";
    }

    /// Whether a field's value is longer than its `max_len`. Nothing was sent.
    pub fn is_too_long {
        TooLong(value: TooLong) =>
            "the field `{}` has {} bytes, but `max_len` allows {}; shorten it or raise `max_len`",
            value.field, value.len, value.max;
    }

    /// Whether a bucket's sum would exceed 64 bits with the item. Nothing was stored.
    pub fn is_sum_overflow {
        SumOverflow =>
            "with this item, a sum in the bucket's rollup would exceed 64 bits; use a float or `Decimal128`, \
             or a smaller capacity";
    }

    /// Whether the rollup of some bucket is missing or does not cover all its items: the bucket was
    /// written before the fields were marked, or by another program.
    pub fn is_incomplete_rollup {
        IncompleteRollup =>
            "the rollup of some buckets does not cover all their items: they were written before the fields \
             were marked, or by another program; rebuild it from the items with the struct's \
             `rebuild_rollups` while writers go on";
    }

    /// Whether an edit tried to change an item's key or time window, which decide the item's
    /// bucket, or its `unique` field; or an `update` tried to change the id, the array, the flag or
    /// the total of a parent. Nothing was stored.
    pub fn is_item_moved {
        Moved(what: &'static str) =>
            "the edit changed the {what} of the item, which no edit may change; nothing was stored; remove \
             the item with `remove_item` and append the new one";
        /// An `update` of a parent changed a field that the runtime writes.
        ParentMoved(what: &'static str) =>
            "the closure changed the {what} of the parent, which `update` never writes; nothing was changed; change \
             items with calls about items, and leave the id, the flag and the total alone";
    }

    /// Whether a key to import already has buckets. Nothing of that key was stored.
    pub fn is_key_taken {
        /// The id of one of the buckets.
        KeyTaken(id: String) =>
            "there are buckets already, such as {id:?}; if an earlier call has ended, they are its own, and nothing is \
             left to do; otherwise take another collection, or remove them first";
    }

    /// Whether an item of the old collection was changed or removed after
    /// `Ops::migrate_from` had copied it.
    pub fn is_migrated_item_changed {
        /// The id of the old bucket.
        OldBucketChanged(id: String) =>
            "items of the bucket {id:?} were changed or removed after they were copied; let no program edit \
             or remove items meanwhile, drop the new collection, and migrate again";
    }

    /// Whether the new collection of a `Ops::migrate_from` does not hold
    /// exactly what the old one holds, or the flat collection of an
    /// `Ops::import_flat` did not stay as it was.
    pub fn is_unverified {
        /// The number of documents when the call began, and of those that the import is done with.
        FlatCollectionChanged { found: u64, taken: u64 } =>
            "the flat collection, of {found} documents, did not stay as it was while {taken} were imported, so some may \
             be missing or stored twice; drop the collection of the buckets (or, if it holds other keys, remove those \
             of the import and its document in `bucket_progress`), and import again while nobody changes the flat one";
        /// The numbers of items.
        Unverified { old: u64, migrated: u64, new: u64 } =>
            "{migrated} items were migrated, but the old collection holds {old} and the new one {new}, or \
             others; if a program still appends to the old one, stop it and call again; if one writes to the \
             new one, stop it, drop the new collection, and migrate again";
    }

    /// Whether another import or migration of the same collections is running.
    pub fn is_import_overtaken {
        Overtaken => "another import or migration of the same collections is running; let it finish";
    }

    /// Whether the server lacks something that the call needs. A standalone server has no
    /// transactions and no change streams, and some servers other than MongoDB lack what the
    /// protocol is built on. Nothing was stored.
    pub fn is_unsupported {
        Standalone(call: &'static str) =>
            "`{call}` needs transactions or change streams, which a standalone server lacks; nothing was \
             changed: start mongod with `--replSet` (one member is enough)";
        NoTransactions =>
            "a standalone server has no transactions; nothing was changed: start mongod with `--replSet` (one \
             member is enough)";
        Unsupported(what: &'static str) =>
            "the server does not support {what}, without which two writers could open two buckets of a key; \
             use MongoDB 6.0 or later (Amazon DocumentDB, Azure Cosmos DB and FerretDB lack it)";
        TwoDatabases =>
            "a watch of parents and their extras needs both collections in one database, since only the events of a \
             database have one order; open them in one";
        NotSharded =>
            "only a `mongos` can shard a collection, and this server is not one; connect to the cluster's \
             `mongos`, or create the collection without `sharded`";
    }

    /// Whether the collection's shard key, existing or requested, does not let a shard see whether
    /// a key already has an open bucket.
    pub fn is_shard_key_conflict {
        /// The collection's shard key, if it could be read, and the right one.
        ShardKey { found: Option<String>, wanted: String } =>
            "the collection is sharded by {}, so a shard could not refuse a duplicate that another shard \
             holds; shard it by {wanted} with db.adminCommand({{reshardCollection: \"{collection}\", key: \
             {wanted}}})",
            found.as_deref().unwrap_or("other fields");
        NoWindowShardKey(why: &'static str) =>
            "the collection cannot be sharded by its windows because {why}; use `sharded` or `sharded_hashed`";
    }

    /// Whether the collection's validator is not the struct's.
    pub fn is_validator_conflict {
        OtherValidator { collection: String, validator: String } =>
            "the collection's validator is not this struct's; if nothing needs that validator, replace it \
             with db.runCommand({{collMod: \"{collection}\", validationLevel: \"moderate\", validator: \
             {validator}}})";
    }

    /// Whether the watched collection was dropped or renamed.
    pub fn is_collection_dropped {
        Dropped =>
            "the collection was dropped or renamed, so the watch has ended; start a new watch on the \
             collection that replaces it";
    }

    /// Whether the server's oplog no longer reaches back to the token that a watch was to resume
    /// after.
    pub fn is_history_lost {
        HistoryLost =>
            "the server's oplog no longer reaches back to that token; start a new watch without it, and read \
             all items with `items`";
    }

    /// Whether an `ItemToken` belongs to another key, filter, struct or
    /// collection than the read that it was given to.
    pub fn is_token_mismatch {
        TokenMismatch =>
            "the token belongs to another read (another key, filter, struct or collection); start without a \
             token, or take one of this read";
    }

    /// Whether other writers were faster so often that the call gave up. Nothing was stored.
    pub fn is_contended {
        Contended(tries: u32) =>
            "other writers were faster {tries} times, so nothing was stored; send the item again";
    }
}

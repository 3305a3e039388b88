//! The kinds of errors and their messages.

use std::fmt;

use crate::schema::{
    names::{EXPIRY_INDEX, OPEN_INDEX, UNIQUE_INDEX},
    open_index::is_open_index,
    size::TooLong,
    spec::MAX_BYTES,
};

/// The kinds of errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The driver or the server failed.
    Driver,
    /// A unique index that the user made refused the write.
    Duplicate,
    /// The index `bucket_open` is missing.
    MissingIndex,
    /// The collection lacks indexes: the commands that create them.
    MissingIndexes(Vec<String>),
    /// An index has one of our names but another definition, given as text.
    ForeignIndex { name: String, is: String },
    /// The index `bucket_open` is that of another struct: the fields by which it keeps its buckets.
    OtherStruct { by: String },
    /// Some item of this bucket cannot be read, so another struct may keep its buckets here: its id, as the
    /// shell writes it.
    OtherItems(String),
    /// The collection does not exist.
    NoCollection,
    /// The collection was written with another capacity: the stored one and the struct's.
    CapacityMismatch { stored: i64, derived: u32 },
    /// Like `CapacityMismatch`, for the extras of an outlier, whose capacity cannot change.
    ExtrasCapacityMismatch { stored: i64, derived: u32 },
    /// Buckets expire after another time than the struct's: both in seconds.
    ExpiryMismatch { stored: u64, derived: Option<u64> },
    /// The collection was written with windows of another length: the stored one and the struct's, in
    /// seconds.
    WindowMismatch { stored: i64, derived: u32 },
    /// A key has several open buckets.
    SeveralOpen,
    /// Two items of one key have the same identity.
    NotUnique,
    /// The collection's collation compares text by a locale.
    Collation,
    /// The item cannot be written as BSON.
    Serialize,
    /// A stored document cannot be read: its id, as the shell writes it.
    Deserialize(String),
    /// A parent cannot be read: its id, as the shell writes it.
    UnreadableParent(String),
    /// An item to change holds a document with a name twice, which no value of the driver can.
    NamedTwice,
    /// The item's time is past the width of its ordinal.
    TimeOutOfRange(String),
    /// The ids of this moment or this key are used up.
    IdsExhausted(String),
    /// An id among the key's ids that no bucket of this format can have.
    ForeignId(String),
    /// The sum of a bucket's values would exceed 64 bits.
    SumOverflow,
    /// An edit changed something that no edit may: the item's key, time window or identity.
    Moved(&'static str),
    /// A bucket's rollup is missing or does not cover all its items.
    IncompleteRollup,
    /// The named field has a stored value, given as text, that its type cannot represent in a group.
    GroupValue(&'static str, String),
    /// The item does not fit into a document.
    TooLarge,
    /// The item alone exceeds the byte limit of a bucket.
    ItemTooLarge { bytes: usize, most: i64, max: u32 },
    /// An edit made the item this many bytes large, and its bucket has no room for it.
    NoRoom(usize),
    /// The matching items of a bucket, before and after an edit, are more than a command can carry: how many
    /// bytes they take, and how many a command can be.
    EditTooLarge { bytes: usize, most: usize },
    /// The value of a field is longer than its `max_len`.
    TooLong(TooLong),
    /// The parent does not exist.
    NoParent,
    /// The parent was deleted during the call, with the items that the call had stored.
    ParentDeleted,
    /// Other writers were faster, this many times.
    Contended(u32),
    /// The task that was sending the items has ended.
    Stopped,
    /// The watched collection no longer exists.
    Dropped,
    /// The server's oplog no longer reaches back to the resume token.
    HistoryLost,
    /// A token belongs to another list of items.
    TokenMismatch,
    /// A flat document cannot be read as an item: its id.
    FlatDocument(String),
    /// A line of an import could not be read: its number.
    Line(u64),
    /// A key to import already has buckets: the id of one.
    KeyTaken(String),
    /// Items of this bucket were changed or removed after they were copied.
    OldBucketChanged(String),
    /// After a migration the two collections hold other numbers of items than were migrated, or the new one
    /// holds other items.
    Unverified { old: u64, migrated: u64, new: u64 },
    /// A key has more buckets than one transaction can rewrite.
    KeyTooLarge,
    /// Another import has taken over the same work.
    Overtaken,
    /// The name of a view is taken, by another view of the collection or by something else.
    NameTaken { name: String, view: bool },
    /// The server belongs to no replica set, but this call needs one.
    Standalone(&'static str),
    /// The server lacks this feature, which the protocol needs.
    Unsupported(&'static str),
    /// Only a `mongos` can shard a collection, and the server is not one.
    NotSharded,
    /// The collection's shard key, if it could be read, is not one that guards open buckets.
    ShardKey {
        found: Option<String>,
        wanted: String,
    },
    /// Windows cannot be the shard key: the reason.
    NoWindowShardKey(&'static str),
    /// The collection's validator is not the struct's.
    OtherValidator {
        collection: String,
        validator: String,
    },
}

impl Kind {
    /// Writes the message: the mistake or failure, and the remedy.
    pub(super) fn explain(
        &self,
        f: &mut fmt::Formatter<'_>,
        collection: &str,
        maybe_stored: bool,
    ) -> fmt::Result {
        match self {
            Self::Driver if maybe_stored => f.write_str(
                "the write failed but may have been carried out; check before you \
                 repeat it",
            ),
            Self::Driver => f.write_str("the call failed; fix the cause and repeat the call"),
            Self::Duplicate => f.write_str("a unique index of the collection refused the item"),
            Self::MissingIndex => write!(
                f,
                "the index `{OPEN_INDEX}` is missing; open the collection again with `buckets` to \
                 create it, or call `change_capacity` again if one was interrupted"
            ),
            Self::MissingIndexes(commands) => write!(
                f,
                "the collection lacks indexes; create them in MongoDB's shell, or open the \
                 collection as a user with the privilege `createIndex` and without \
                 `create_indexes(false)`: {}",
                commands.join("; ")
            ),
            Self::ForeignIndex { name, is } if is_open_index(name) => write!(
                f,
                "the index `{name}` ({is}) is not the one that this struct needs, and may guard the \
                 buckets of another struct; give this struct a collection of its own, or, if somebody \
                 has changed the struct's own index, create it again as `indexes()` lists it"
            ),
            Self::ForeignIndex { name, is } => write!(
                f,
                "the index `{name}` ({is}) is not the one that this struct needs; if nothing else \
                 uses it, drop it and open the collection again"
            ),
            Self::OtherStruct { by } => write!(
                f,
                "another struct keeps its buckets here, by {by}; give this struct a collection of \
                 its own"
            ),
            Self::OtherItems(id) => write!(
                f,
                "this struct cannot read the items of the bucket with _id {id}: another struct \
                 keeps its buckets here, or a field changed; give this struct a collection of its \
                 own, let it read its older items, or open it without `check_items`"
            ),
            Self::NoCollection => f.write_str(
                "the collection does not exist; name the right database and collection, or open \
                 the collection with `buckets`, which creates it",
            ),
            Self::CapacityMismatch { stored, derived } => write!(
                f,
                "the collection was written with capacity {stored}, but the struct says {derived}; \
                 write `capacity = {stored}`, or change the collection with the struct's \
                 `change_capacity` while writers go on (`Trade::change_capacity(&db)` for a struct \
                 `Trade`)"
            ),
            Self::ExtrasCapacityMismatch { stored, derived } => write!(
                f,
                "the extras collection was made with capacity {stored}, but the struct says \
                 {derived}; write `extras_capacity = {stored}`, or drop the collection if it holds \
                 no extras"
            ),
            Self::ExpiryMismatch { stored, derived } => {
                write!(
                    f,
                    "the collection's buckets expire {stored} seconds after their newest item, but "
                )?;
                match derived {
                    Some(derived) => {
                        let name = collection.split_once('.').map_or("", |(_, name)| name);
                        write!(
                            f,
                            "the struct says {derived}; write `expire_after = \"{stored}s\"`, or \
                             change the collection with db.runCommand({{collMod: {name:?}, index: \
                             {{name: \"{EXPIRY_INDEX}\", expireAfterSeconds: {derived}}}}})"
                        )
                    }
                    None => write!(
                        f,
                        "the struct sets no expiry; write `expire_after = \"{stored}s\"`, or drop \
                         the index `{EXPIRY_INDEX}`"
                    ),
                }
            }
            Self::WindowMismatch { stored, derived } => write!(
                f,
                "the collection was written with windows of {stored} seconds, but the struct says \
                 {derived}; write `/{stored}s` in the id format, or move the items into another \
                 collection with `append_stream`"
            ),
            Self::SeveralOpen => write!(
                f,
                "the index `{OPEN_INDEX}` cannot be created because a key has several open \
                 buckets; seal all but the newest of each key by setting `sealed` to the bucket's \
                 own `_id`, as `Trade::repair(&db)` does for a struct `Trade`; if a \
                 `change_capacity` was interrupted, call it again instead"
            ),
            Self::NotUnique => write!(
                f,
                "the index `{UNIQUE_INDEX}` cannot be created because two buckets of one key hold \
                 items with the same value in the `unique` field; remove one of the two items"
            ),
            Self::Collation => f.write_str(
                "the collection has its own collation, under which different keys may compare \
                 equal; use a collection with the simple collation",
            ),
            Self::Serialize => f.write_str("the item cannot be written as BSON"),
            Self::Deserialize(id) => {
                write!(
                    f,
                    "the document with _id {id} is not a bucket of this struct"
                )
            }
            Self::UnreadableParent(id) => write!(
                f,
                "the parent with _id {id} is not one of this struct; correct it (`verify` lists all \
                 such parents)"
            ),
            Self::NamedTwice => f.write_str(
                "the item holds a document with a name twice, and an edit would write only one of the two; \
                 nothing was changed: remove the item with `remove_item`, and append it with other names",
            ),
            Self::TimeOutOfRange(time) => write!(
                f,
                "the time {time} has more digits than an id can hold; correct the item"
            ),
            Self::IdsExhausted(id) => write!(f, "no id is left after {id:?}"),
            Self::ForeignId(id) => write!(
                f,
                "the document with _id {id:?} sorts among the key's buckets, but no bucket can \
                 have that id; move it to another collection"
            ),
            Self::SumOverflow => f.write_str(
                "with this item, a sum in the bucket's rollup would exceed 64 bits; use a float or \
                 `Decimal128`, or a smaller capacity",
            ),
            Self::Moved(what) => write!(
                f,
                "the edit changed the {what} of the item, which no edit may change; nothing was \
                 stored; remove the item with `remove_item` and append the new one"
            ),
            Self::IncompleteRollup => f.write_str(
                "the rollup of some buckets does not cover all their items: they were written \
                 before the fields were marked, or by another program; rebuild it from the items \
                 with the struct's `rebuild_rollups` while writers go on \
                 (`Trade::rebuild_rollups(&db)` for a struct `Trade`)",
            ),
            Self::GroupValue(field, value) => write!(
                f,
                "some items hold {value} in the field `{field}`, which its type cannot represent; exclude \
                 them with `exists`, or find them with a filter and correct them"
            ),
            Self::TooLarge => f.write_str(
                "the document would exceed 16 MB with this item; if the item alone is smaller, \
                 another program has filled the bucket: seal it by setting `sealed` to its own \
                 `_id`, and send the item again",
            ),
            Self::ItemTooLarge { bytes, most, max } => write!(
                f,
                "the item takes {bytes} bytes, but with `max_bytes = {max}` none may take more \
                 than {most}; store large data elsewhere (in GridFS, say), or raise `max_bytes`, \
                 to {MAX_BYTES} at most"
            ),
            Self::NoRoom(bytes) => write!(
                f,
                "the item would take {bytes} bytes and its bucket would exceed `max_bytes`; \
                 nothing was changed: remove the item and append the new one"
            ),
            Self::EditTooLarge { bytes, most } => write!(
                f,
                "the matching items of one bucket take {bytes} bytes, old and new together, but a command \
                 holds {most}; nothing of this bucket was changed: use a narrower filter"
            ),
            Self::TooLong(TooLong { field, len, max }) => write!(
                f,
                "the field `{field}` has {len} bytes, but `max_len` allows {max}; shorten it or \
                 raise `max_len`"
            ),
            Self::NoParent => f.write_str(
                "the parent does not exist, so nothing was stored; insert it, then push",
            ),
            Self::ParentDeleted => f.write_str(
                "the parent was deleted during the call, together with the items that the call had \
                 stored; insert it again with all of its items if it should exist",
            ),
            Self::NameTaken { name, view: true } => write!(
                f,
                "the view `{name}` exists with another definition; if nothing needs it, drop it \
                 and create the view again"
            ),
            Self::NameTaken { name, view: false } => write!(
                f,
                "the name `{name}` is taken by something other than a view of this collection; \
                 choose another name for the view"
            ),
            Self::Standalone(call) => write!(
                f,
                "`{call}` needs transactions or change streams, which a standalone server lacks; \
                 nothing was changed: start mongod with `--replSet` (one member is enough)"
            ),
            Self::Unsupported(what) => write!(
                f,
                "the server does not support {what}, without which two writers could open two \
                 buckets of a key; use MongoDB 6.0 or later (Amazon DocumentDB, Azure Cosmos DB \
                 and FerretDB lack it)"
            ),
            Self::NotSharded => f.write_str(
                "only a `mongos` can shard a collection, and this server is not one; connect to \
                 the cluster's `mongos`, or create the collection without `sharded`",
            ),
            Self::ShardKey { found, wanted } => {
                f.write_str("the collection is sharded by ")?;
                f.write_str(found.as_deref().unwrap_or("other fields"))?;
                write!(
                    f,
                    ", so a shard could not refuse a duplicate that another shard holds; shard it \
                     by {wanted} with db.adminCommand({{reshardCollection: \"{collection}\", key: \
                     {wanted}}})"
                )
            }
            Self::NoWindowShardKey(why) => write!(
                f,
                "the collection cannot be sharded by its windows because {why}; use `sharded` or \
                 `sharded_hashed`"
            ),
            Self::OtherValidator {
                collection,
                validator,
            } => write!(
                f,
                "the collection's validator is not this struct's; if nothing needs that validator, \
                 replace it with db.runCommand({{collMod: \"{collection}\", validationLevel: \
                 \"moderate\", validator: {validator}}})"
            ),
            Self::Contended(tries) => write!(
                f,
                "other writers were faster {tries} times, so nothing was stored; send the item \
                 again"
            ),
            Self::Dropped => f.write_str(
                "the collection was dropped or renamed, so the watch has ended; start a new watch \
                 on the collection that replaces it",
            ),
            Self::HistoryLost => f.write_str(
                "the server's oplog no longer reaches back to that token; start a new watch \
                 without it, and read all items with `items`",
            ),
            Self::TokenMismatch => f.write_str(
                "the token belongs to another read (another key, filter, struct or collection); start \
                 without a token, or take one of this read",
            ),
            Self::FlatDocument(id) => write!(
                f,
                "the flat document with _id {id} is not an item of this struct; correct or remove \
                 it, then call `import_flat` again to continue"
            ),
            Self::Line(number) => write!(
                f,
                "line {number} could not be read; remove the cause, then import all lines again: what \
                 is there is left as it is"
            ),
            Self::KeyTaken(id) => write!(
                f,
                "there are buckets already, such as {id:?}; take another collection, or remove them \
                 first"
            ),
            Self::OldBucketChanged(id) => write!(
                f,
                "items of the bucket {id:?} were changed or removed after they were copied; let no \
                 program edit or remove items meanwhile, drop the new collection, and migrate again"
            ),
            Self::Unverified { old, migrated, new } => write!(
                f,
                "{migrated} items were migrated, but the old collection holds {old} and the new one \
                 {new}, or others; if a program still appends to the old one, stop it and call again; \
                 if one writes to the new one, stop it, drop the new collection, and migrate again"
            ),
            Self::KeyTooLarge => f.write_str(
                "the key, or one of its seconds or time windows, has more buckets than one \
                 transaction can rewrite, so they were not changed; to rewrite them, move the \
                 items into another collection with `append_stream`",
            ),
            Self::Overtaken => f.write_str(
                "another import or migration of the same collections is running; let it finish",
            ),
            Self::Stopped => f.write_str(
                "the tokio runtime that was sending the item has ended, and the item may have been \
                 stored; check before you repeat it",
            ),
        }
    }
}

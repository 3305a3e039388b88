//! What can go wrong, and what is said about it.

use std::fmt;

use crate::schema::{
    names::{EXPIRY_INDEX, OPEN_INDEX, UNIQUE_INDEX},
    size::TooLong,
    spec::MAX_BYTES,
};

/// What can go wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The driver or the server failed.
    Driver,
    /// A unique index of the user's refused the write.
    Duplicate,
    /// The index `bucket_open` is not there.
    MissingIndex,
    /// An index of this name is there, but it is not ours: what it is.
    ForeignIndex { name: String, is: String },
    /// The collection was written with another capacity: that one, and the struct's.
    CapacityMismatch { stored: i64, derived: u32 },
    /// The same of the extras of an outlier, whose capacity cannot be changed.
    ExtrasCapacityMismatch { stored: i64, derived: u32 },
    /// Buckets expire after another time than the struct says, in seconds.
    ExpiryMismatch { stored: u64, derived: Option<u64> },
    /// The collection was written with windows of another length: that one, and the struct's, in
    /// seconds.
    WindowMismatch { stored: i64, derived: u32 },
    /// Some key has several open buckets.
    SeveralOpen,
    /// Some items of a key have the same identity.
    NotUnique,
    /// The collection compares text by a locale.
    Collation,
    /// The item cannot be written as BSON.
    Serialize,
    /// A stored document cannot be read: its id.
    Deserialize(String),
    /// The item's time is past the width of its ordinal.
    TimeOutOfRange(String),
    /// The ids of this moment, or of this key, are used up.
    IdsExhausted(String),
    /// An id among the key's that no bucket of this format can have.
    ForeignId(String),
    /// The sum of a bucket's values would exceed 64 bits.
    SumOverflow,
    /// An edit changed what no edit may: the key of the item, its time window, or its identity.
    Moved(&'static str),
    /// A bucket does not keep what is to be added up, or not of all its items.
    IncompleteRollup,
    /// The item does not fit into a document.
    TooLarge,
    /// The item alone would exceed the bytes of a bucket.
    ItemTooLarge { bytes: usize, most: i64, max: u32 },
    /// The item has grown by an edit, to so many bytes, and its bucket has no room for that.
    NoRoom(usize),
    /// The value of a field is longer than the struct lets it be.
    TooLong(TooLong),
    /// There is no such parent.
    NoParent,
    /// Others were faster, this many times.
    Contended(u32),
    /// The task that sent the items was ended.
    Stopped,
    /// The collection that was watched is no more.
    Dropped,
    /// What was to be resumed from lies before all that the server remembers.
    HistoryLost,
    /// A flat document that is no item: its id.
    FlatDocument(String),
    /// A key that was to be imported has buckets already: one of them.
    KeyTaken(String),
    /// A key has more buckets than can be rewritten at once.
    KeyTooLarge,
    /// Another import goes on with the same work.
    Overtaken,
    /// The name of a view is taken, by another view of the collection or by something else.
    NameTaken { name: String, view: bool },
    /// The server is no member of a replica set, which this call needs.
    Standalone(&'static str),
    /// The server does not do this, which the protocol needs.
    Unsupported(&'static str),
    /// Collections are sharded behind a `mongos` only.
    NotSharded,
    /// The collection is sharded by these fields, if they could be read, and would have to be by those.
    ShardKey {
        found: Option<String>,
        wanted: String,
    },
    /// Windows cannot be the shard key, and why.
    NoWindowShardKey(&'static str),
    /// The collection has another validator than the struct's.
    OtherValidator {
        collection: String,
        validator: String,
    },
}

impl Kind {
    /// What went wrong, and the way out.
    pub(super) fn explain(
        &self,
        f: &mut fmt::Formatter<'_>,
        collection: &str,
        maybe_stored: bool,
    ) -> fmt::Result {
        match self {
            Self::Driver if maybe_stored => {
                f.write_str("the write failed, and may have been carried out; look before you repeat it")
            }
            Self::Driver => f.write_str(
                "the server refused, or could not be reached; remedy the cause, and repeat the call",
            ),
            Self::Duplicate => f.write_str("a unique index of the collection refused the item"),
            Self::MissingIndex => write!(
                f,
                "the index `{OPEN_INDEX}` is missing; open the collection again with `buckets` to \
                 make it"
            ),
            Self::ForeignIndex { name, is } => write!(
                f,
                "the index `{name}` is not the one that this struct needs (it is {is}); if \
                 nothing else uses it, drop it and open the collection again"
            ),
            Self::CapacityMismatch { stored, derived } => write!(
                f,
                "the collection was written with capacity {stored}, the struct says {derived}; \
                 write `capacity = {stored}`, or change the collection, while writers go on, with \
                 `change_capacity` of the struct (`Trade::change_capacity(&db)`)"
            ),
            Self::ExtrasCapacityMismatch { stored, derived } => write!(
                f,
                "the collection of the extras was made with capacity {stored}, the struct says \
                 {derived}; write `extras_capacity = {stored}`, or, if it holds no extras, drop it"
            ),
            Self::ExpiryMismatch { stored, derived } => {
                write!(
                    f,
                    "the buckets of the collection expire {stored} seconds after their newest \
                     item, "
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
                        "the struct does not say so; write `expire_after = \"{stored}s\"`, or \
                         drop the index `{EXPIRY_INDEX}`"
                    ),
                }
            }
            Self::WindowMismatch { stored, derived } => write!(
                f,
                "the collection was written with windows of {stored} seconds, the struct says \
                 {derived}; write `/{stored}s` in the id format, or move the items into another \
                 collection with `append_stream`"
            ),
            Self::SeveralOpen => write!(
                f,
                "the index `{OPEN_INDEX}` cannot be made, since a key has several open buckets; \
                 seal all but the newest of each key by setting `sealed` to the bucket's own `_id`, \
                 as `Trade::repair(&db)` does for a struct `Trade`"
            ),
            Self::NotUnique => write!(
                f,
                "the index `{UNIQUE_INDEX}` cannot be made, since two buckets of a key hold items \
                 with the same value in the field that is `unique`; remove one of the two items"
            ),
            Self::Collation => f.write_str(
                "the collection has a collation of its own, under which different keys may be \
                 equal; use a collection with the simple collation",
            ),
            Self::Serialize => f.write_str("the item cannot be written as BSON"),
            Self::Deserialize(id) => {
                write!(
                    f,
                    "the document with _id {id:?} is no bucket of this struct"
                )
            }
            Self::TimeOutOfRange(time) => write!(
                f,
                "the time {time} has more digits than the ids have; correct the item"
            ),
            Self::IdsExhausted(id) => write!(f, "there is no id left after {id:?}"),
            Self::ForeignId(id) => write!(
                f,
                "the document with _id {id:?} lies among the buckets of the key, but no bucket has \
                 such an id; move it to another collection"
            ),
            Self::SumOverflow => f.write_str(
                "the sum that the bucket keeps would exceed 64 bits with this item; use a float or \
                 `Decimal128`, or a smaller capacity",
            ),
            Self::Moved(what) => write!(
                f,
                "the edit changed the {what} of the item, by which it is found; nothing was stored; \
                 remove the item with `remove_item`, and append the new one"
            ),
            Self::IncompleteRollup => f.write_str(
                "some buckets do not keep what is to be added up of all of their items, since they \
                 were written before the fields were marked, or by another program; move their \
                 items into another collection with `append_stream`",
            ),
            Self::TooLarge => f.write_str(
                "the document with this item would exceed what a document may hold (16 MB); if \
                 the item alone does not, the bucket is one that another program has filled: seal it by \
                 setting `sealed` to its own `_id`, and send the item again",
            ),
            Self::ItemTooLarge { bytes, most, max } => write!(
                f,
                "the item takes {bytes} bytes, and with `max_bytes = {max}` none may take more than \
                 {most}; store what is so large elsewhere (in GridFS, say), or raise `max_bytes`, to \
                 {MAX_BYTES} at most"
            ),
            Self::NoRoom(bytes) => write!(
                f,
                "the item would take {bytes} bytes, and its bucket would exceed its `max_bytes`; \
                 nothing was changed: remove the item, and append it as it is to be"
            ),
            Self::TooLong(TooLong { field, len, max }) => write!(
                f,
                "the field `{field}` has {len} bytes, `max_len` allows {max}; shorten it, or raise \
                 `max_len`"
            ),
            Self::NoParent => f.write_str(
                "there is no such parent, so nothing was stored; insert it first, and push then",
            ),
            Self::NameTaken { name, view: true } => write!(
                f,
                "there is a view `{name}` with another definition; if nobody needs it, drop it and \
                 create the view again"
            ),
            Self::NameTaken { name, view: false } => write!(
                f,
                "the name `{name}` is taken by something that is no view of this collection; choose \
                 another name for the view"
            ),
            Self::Standalone(call) => write!(
                f,
                "`{call}` needs transactions or change streams, which a standalone server does not \
                 have; nothing was changed: start mongod with `--replSet`, a single member will do"
            ),
            Self::Unsupported(what) => write!(
                f,
                "the server does not support {what}, without which two writers could open two buckets \
                 of a key; use MongoDB 6.0 or later (Amazon DocumentDB, Azure Cosmos DB and FerretDB \
                 lack it)"
            ),
            Self::NotSharded => f.write_str(
                "a collection is sharded through a `mongos`, and this server is none; connect to the \
                 cluster's `mongos`, or make the collection without `sharded`",
            ),
            Self::ShardKey { found, wanted } => {
                f.write_str("the collection is sharded by ")?;
                f.write_str(found.as_deref().unwrap_or("other fields"))?;
                write!(
                    f,
                    ", so that no shard could refuse what another one holds; shard it by {wanted} with \
                     db.adminCommand({{reshardCollection: \"{collection}\", key: {wanted}}})"
                )
            }
            Self::NoWindowShardKey(why) => write!(
                f,
                "the collection cannot be sharded by its windows, since {why}; use `sharded` or \
                 `sharded_hashed`"
            ),
            Self::OtherValidator {
                collection,
                validator,
            } => write!(
                f,
                "the collection has another validator than this struct's; if nobody needs that one, \
                 replace it by db.runCommand({{collMod: \"{collection}\", validationLevel: \
                 \"moderate\", validator: {validator}}})"
            ),
            Self::Contended(tries) => write!(
                f,
                "others were faster {tries} times; nothing was stored, send the item again"
            ),
            Self::Dropped => f.write_str(
                "the collection was dropped or renamed, so nothing more is to come; watch anew what \
                 takes its place",
            ),
            Self::HistoryLost => f.write_str(
                "the server does not remember any more what came after that token; watch anew \
                 without it, and read all items with `items`",
            ),
            Self::FlatDocument(id) => write!(
                f,
                "the flat document with _id {id} is no item of this struct; correct or remove it, \
                 and import_flat again to go on"
            ),
            Self::KeyTaken(id) => write!(
                f,
                "the key has buckets already, such as {id:?}; import_flat into another collection, or \
                 remove them first"
            ),
            Self::KeyTooLarge => f.write_str(
                "the key has more buckets, or the second or the time window more of them, than one \
                 transaction can rewrite, so they were left as they are; to have them dense, move \
                 the items into another collection with `append_stream`",
            ),
            Self::Overtaken => f.write_str(
                "another import of the same collections is under way; let that one finish",
            ),
            Self::Stopped => f.write_str(
                "the tokio runtime that was sending the item has ended, and the item may have been \
                 stored; look before you repeat it",
            ),
        }
    }
}

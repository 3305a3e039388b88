//! The one error of this crate.

mod driver;

use std::{error::Error as StdError, fmt, sync::Arc};

use mongodb::error::Error as DriverError;

pub(crate) use self::driver::{duplicate_index, is_impossible_id, maybe_stored};
use self::driver::{is_missing_hint, is_too_long, write_code, write_error};

use crate::command::{EXPIRY_INDEX, OPEN_INDEX};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in which collection, and for which key.
///
/// The text names the way out; the predicates (`is_…`) tell the cases apart in code. The driver's
/// error, if there is one, is the [`source`](StdError::source), and [`driver`](Self::driver).
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: Kind,
    collection: String,
    key: Option<String>,
    source: Option<Source>,
    maybe_stored: bool,
    stored: usize,
}

#[derive(Clone)]
enum Source {
    Driver(DriverError),
    Other(Arc<dyn StdError + Send + Sync>),
}

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
    /// Buckets expire after another time than the struct says, in seconds.
    ExpiryMismatch { stored: u64, derived: Option<u64> },
    /// The collection was written with windows of another length: that one, and the struct's, in
    /// seconds.
    WindowMismatch { stored: i64, derived: u32 },
    /// Some key has several open buckets.
    SeveralOpen,
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
    /// A bucket does not keep what is to be added up, or not of all its items.
    IncompleteRollup,
    /// The item does not fit into a document.
    TooLarge,
    /// There is no such parent.
    NoParent,
    /// Others were faster, this many times.
    Contended(u32),
    /// The task that sent the items was ended.
    Stopped,
    /// A flat document that is no item: its id.
    FlatDocument(String),
    /// A key that was to be regrouped has buckets already: one of them.
    KeyTaken(String),
    /// Another regrouping goes on with the same work.
    Overtaken,
    /// The name of a view is taken, by another view of the collection or by something else.
    NameTaken { name: String, view: bool },
    /// The collection has another validator than the struct's.
    OtherValidator {
        collection: String,
        validator: String,
    },
}

impl Error {
    pub(crate) fn new(kind: Kind, collection: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            collection: collection.into(),
            key: None,
            source: None,
            maybe_stored: false,
            stored: 0,
        }))
    }

    /// An error of a read, or of anything else that stores no item.
    pub(crate) fn read(error: DriverError, collection: impl Into<String>) -> Self {
        let kind = match write_code(&error) {
            Some(refusal) if is_missing_hint(refusal) => Kind::MissingIndex,
            _ => Kind::Driver,
        };
        Self::new(kind, collection).with_driver(error)
    }

    /// An error of a write.
    pub(crate) fn write(error: DriverError, collection: impl Into<String>) -> Self {
        let kind = match write_code(&error) {
            _ if is_too_long(&error) => Kind::TooLarge,
            Some((11000, _)) => Kind::Duplicate,
            // BSONObjectTooLarge, and the same from the update stage and from `$push`.
            Some((10334 | 17419 | 17420, _)) => Kind::TooLarge,
            Some((2, message)) if message.contains("Failed to apply $inc") => Kind::SumOverflow,
            Some(refusal) if is_missing_hint(refusal) => Kind::MissingIndex,
            _ => Kind::Driver,
        };
        let mut new = Self::new(kind, collection);
        new.0.maybe_stored = maybe_stored(&error);
        new.with_driver(error)
    }

    pub(crate) fn with_key(mut self, key: &str) -> Self {
        self.0.key = Some(key.to_owned());
        self
    }

    pub(crate) fn is(&self, kind: &Kind) -> bool {
        self.0.kind == *kind
    }

    pub(crate) fn in_doubt(mut self) -> Self {
        self.0.maybe_stored = true;
        self
    }

    pub(crate) fn not_sent(mut self) -> Self {
        self.0.maybe_stored = false;
        self
    }

    /// Whether the next item would meet with the same error.
    pub(crate) fn is_fatal(&self) -> bool {
        match self.0.kind {
            Kind::Driver => !self.is_refusal(),
            Kind::MissingIndex | Kind::Stopped => true,
            _ => false,
        }
    }

    /// Whether the server refused a statement, which may be due to a single one of its items.
    pub(crate) fn is_refusal(&self) -> bool {
        match self.0.kind {
            Kind::MissingIndex => false,
            Kind::TooLarge => true,
            _ => self.driver().and_then(write_error).is_some(),
        }
    }

    pub(crate) fn with_stored(mut self, items: usize) -> Self {
        self.0.stored = items;
        self
    }

    pub(crate) fn with_source(mut self, source: Box<dyn StdError + Send + Sync>) -> Self {
        self.0.source = Some(Source::Other(source.into()));
        self
    }

    pub(crate) fn with_driver(mut self, error: DriverError) -> Self {
        self.0.source = Some(Source::Driver(error));
        self
    }

    /// The collection, as `database.collection`.
    pub fn collection(&self) -> &str {
        &self.0.collection
    }

    /// The key, as text for people: its fields, parted by commas.
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// The driver's error, with its labels (`TransientTransactionError`) and codes.
    pub fn driver(&self) -> Option<&DriverError> {
        match &self.0.source {
            Some(Source::Driver(error)) => Some(error),
            _ => None,
        }
    }

    /// Whether the item of the failed call may have been stored nevertheless.
    ///
    /// `false` is a promise: nothing was stored, sending the item again cannot double it. `true`
    /// means that the answer got lost (a cut connection, a primary that stepped down, a write
    /// concern that was not reached in time): look before you send it again.
    pub fn is_maybe_stored(&self) -> bool {
        self.0.maybe_stored
    }

    /// How many items of the failed call are stored for certain, from the first one on.
    pub fn stored(&self) -> usize {
        self.0.stored
    }

    /// Whether there is no such parent. Nothing was stored.
    pub fn is_not_found(&self) -> bool {
        self.0.kind == Kind::NoParent
    }

    /// Whether a unique index of your own refused the item. Nothing was stored.
    pub fn is_duplicate(&self) -> bool {
        self.0.kind == Kind::Duplicate
    }

    /// Whether the index `bucket_open` is missing, or an index has the name of one that this library
    /// makes and is another one. Nothing was stored.
    pub fn is_index(&self) -> bool {
        matches!(self.0.kind, Kind::MissingIndex | Kind::ForeignIndex { .. })
    }

    /// Whether the collection was written with another capacity than the struct now has.
    pub fn is_capacity_mismatch(&self) -> bool {
        matches!(self.0.kind, Kind::CapacityMismatch { .. })
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

    /// Whether the item, or the bucket with it, would exceed what a document may hold (16 MB).
    /// Nothing was stored.
    pub fn is_too_large(&self) -> bool {
        self.0.kind == Kind::TooLarge
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

    /// Whether a key that was to be regrouped has buckets already. Nothing of it was stored.
    pub fn is_key_taken(&self) -> bool {
        matches!(self.0.kind, Kind::KeyTaken(_))
    }

    /// Whether another regrouping of the same collections is under way.
    pub fn is_overtaken(&self) -> bool {
        self.0.kind == Kind::Overtaken
    }

    /// Whether the name of a view is taken by something else, or by a view that is made otherwise.
    pub fn is_name_taken(&self) -> bool {
        matches!(self.0.kind, Kind::NameTaken { .. })
    }

    /// Whether the collection has another validator than that of the struct.
    pub fn is_validator(&self) -> bool {
        matches!(self.0.kind, Kind::OtherValidator { .. })
    }

    /// Whether others were faster so many times that the call gave up. Nothing was stored.
    pub fn is_contended(&self) -> bool {
        matches!(self.0.kind, Kind::Contended(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            collection,
            key,
            source,
            maybe_stored,
            stored,
        } = &*self.0;
        write!(f, "{collection}")?;
        if let Some(key) = key {
            write!(f, ", key {key}")?;
        }
        f.write_str(": ")?;
        match kind {
            Kind::Driver if *maybe_stored => {
                f.write_str("the write failed and may have been stored; look before you repeat it")
            }
            Kind::Driver => f.write_str("the server could not be asked, or refused"),
            Kind::Duplicate => f.write_str("a unique index of the collection refused the item"),
            Kind::MissingIndex => write!(
                f,
                "the index `{OPEN_INDEX}` is missing; open the collection again with `buckets` to \
                 make it"
            ),
            Kind::ForeignIndex { name, is } => write!(
                f,
                "the index `{name}` is not the one that this struct needs (it is {is}); if \
                 nothing else uses it, drop it and open the collection again"
            ),
            Kind::CapacityMismatch { stored, derived } => write!(
                f,
                "the collection was written with capacity {stored}, the struct says {derived}; \
                 write `capacity = {stored}`, or change the collection: stop all writers, seal the \
                 full buckets with updateMany({{count: {{$gte: {stored}}}, sealed: {{$exists: \
                 false}}}}, [{{$set: {{sealed: \"$_id\"}}}}]), drop the index `{OPEN_INDEX}`, and \
                 open it again"
            ),
            Kind::ExpiryMismatch { stored, derived } => {
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
            Kind::WindowMismatch { stored, derived } => write!(
                f,
                "the collection was written with windows of {stored} seconds, the struct says \
                 {derived}; write `/{stored}s` in the id format, or move the items into another \
                 collection with `append_stream`"
            ),
            Kind::SeveralOpen => write!(
                f,
                "the index `{OPEN_INDEX}` cannot be made, since a key has several open buckets; \
                 seal all but the newest of each key by setting `sealed` to the bucket's own `_id`"
            ),
            Kind::Collation => f.write_str(
                "the collection has a collation of its own, under which different keys may be \
                 equal; use a collection with the simple collation",
            ),
            Kind::Serialize => f.write_str("the item cannot be written as BSON"),
            Kind::Deserialize(id) => {
                write!(
                    f,
                    "the document with _id {id:?} is no bucket of this struct"
                )
            }
            Kind::TimeOutOfRange(time) => write!(
                f,
                "the time {time} has more digits than the ids have; correct the item"
            ),
            Kind::IdsExhausted(id) => write!(f, "there is no id left after {id:?}"),
            Kind::ForeignId(id) => write!(
                f,
                "the document with _id {id:?} lies among the buckets of the key, but no bucket has \
                 such an id; move it to another collection"
            ),
            Kind::SumOverflow => f.write_str(
                "the sum that the bucket keeps would exceed 64 bits with this item; use a float or \
                 `Decimal128`, or a smaller capacity",
            ),
            Kind::IncompleteRollup => f.write_str(
                "some buckets do not keep what is to be added up of all of their items, since they \
                 were written before the fields were marked, or by another program; move their \
                 items into another collection with `append_stream`",
            ),
            Kind::TooLarge => f.write_str(
                "the document with this item would exceed what a document may hold (16 MB); if \
                 the item alone does not, seal the open bucket by setting `sealed` to its own \
                 `_id`, send the item again, and choose a smaller capacity",
            ),
            Kind::NoParent => f.write_str(
                "there is no such parent, so nothing was stored; insert it first, and push then",
            ),
            Kind::NameTaken { name, view: true } => write!(
                f,
                "there is a view `{name}` with another definition; if nobody needs it, drop it and \
                 create the view again"
            ),
            Kind::NameTaken { name, view: false } => write!(
                f,
                "the name `{name}` is taken by something that is no view of this collection; choose \
                 another name for the view"
            ),
            Kind::OtherValidator {
                collection,
                validator,
            } => write!(
                f,
                "the collection has another validator than this struct's; if nobody needs that one, \
                 replace it by db.runCommand({{collMod: \"{collection}\", validationLevel: \
                 \"moderate\", validator: {validator}}})"
            ),
            Kind::Contended(tries) => write!(
                f,
                "others were faster {tries} times; nothing was stored, send the item again"
            ),
            Kind::FlatDocument(id) => write!(
                f,
                "the flat document with _id {id} is no item of this struct; correct or remove it, \
                 and regroup again to go on"
            ),
            Kind::KeyTaken(id) => write!(
                f,
                "the key has buckets already, such as {id:?}; regroup into another collection, or \
                 remove them first"
            ),
            Kind::Overtaken => f.write_str(
                "another regrouping of the same collections is under way; let that one finish",
            ),
            Kind::Stopped => f.write_str(
                "the tokio runtime that was sending the item has ended, and the item may have been \
                 stored; look before you repeat it",
            ),
        }?;
        if *stored > 0 {
            write!(f, " (the first {stored} items are stored)")?;
        }
        match source {
            Some(Source::Driver(error)) => write!(f, ": {error}"),
            Some(Source::Other(error)) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}

/// As [`Display`](fmt::Display): it is what `main` and `unwrap` print.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.source {
            Some(Source::Driver(error)) => Some(error),
            Some(Source::Other(error)) => Some(&**error),
            None => None,
        }
    }
}

/// For `?` in the closures of the driver's `and_run`, which runs a transaction again if the error
/// has the label `TransientTransactionError`: the driver's own error with its labels, if it was
/// one; else a custom error that holds ours.
impl From<Error> for DriverError {
    fn from(error: Error) -> Self {
        match error.0.source {
            Some(Source::Driver(driver)) => driver,
            _ => Self::custom(error),
        }
    }
}

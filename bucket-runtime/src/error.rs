//! The one error of this crate.

mod driver;
mod kind;

use std::{error::Error as StdError, fmt, sync::Arc};

use mongodb::error::Error as DriverError;

use self::driver::{is_missing_hint, is_too_long, write_error};
pub(crate) use self::{
    driver::{
        duplicate_index, is_broken_off, is_impossible_id, is_killed, is_missing_index,
        maybe_stored, write_code,
    },
    kind::Kind,
};

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
            Some(refusal) if is_missing_hint(refusal) || is_broken_off(refusal) => {
                Kind::MissingIndex
            }
            // ChangeStreamFatalError, ChangeStreamHistoryLost.
            Some((280 | 286, _)) => Kind::HistoryLost,
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
            Some(refusal) if is_missing_hint(refusal) || is_broken_off(refusal) => {
                Kind::MissingIndex
            }
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

    /// The same, of opening the extras of an outlier.
    pub(crate) fn of_extras(mut self) -> Self {
        if let Kind::CapacityMismatch { stored, derived } = self.0.kind {
            self.0.kind = Kind::ExtrasCapacityMismatch { stored, derived };
        }
        self
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
    pub fn is_moved(&self) -> bool {
        matches!(self.0.kind, Kind::Moved(_))
    }

    /// Whether a key, or a time window of one, has more buckets than can be rewritten at once.
    pub fn is_key_too_large(&self) -> bool {
        self.0.kind == Kind::KeyTooLarge
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

    /// Whether the collection that is watched was dropped or renamed.
    pub fn is_dropped(&self) -> bool {
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
        kind.explain(f, collection, *maybe_stored)?;
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

//! The one error of this crate.

#![deny(missing_docs)]

mod advice;
#[cfg(test)]
mod answers;
mod cause;
mod code;
mod doubt;
mod driver;
mod kind;
#[cfg(test)]
mod tests;
mod text;

use std::{error::Error as StdError, sync::Arc};

use mongodb::error::Error as DriverError;

#[cfg(feature = "tracing")]
pub(crate) use self::driver::{code_of, type_of};
pub(crate) use self::driver::{
    is_aborted, is_broken_off, is_killed, is_statement_error, is_too_many_transactions,
};
use self::driver::{is_missing_hint, is_too_long, restore_refusal_of_transactions, write_error};
pub use self::{
    cause::of_driver as error_text,
    code::Code,
    doubt::maybe_stored,
    driver::{duplicate_index, is_code, is_impossible_id, is_repeatable, is_unknown, refusal},
    kind::Kind,
    text::count,
};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this library: the kind, the collection and the key that it concerns.
///
/// The message says what to do; the predicates (`is_…`) tell the cases apart in code. The driver's
/// error, if there is one, is the [`source`](StdError::source) and [`driver`](Self::driver).
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
    #[doc(hidden)]
    pub fn new(kind: Kind, collection: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            collection: collection.into(),
            key: None,
            source: None,
            maybe_stored: false,
            stored: 0,
        }))
    }

    /// An error of a read, or of any other call that stores no item.
    pub(crate) fn read(error: DriverError, collection: impl Into<String>) -> Self {
        let kind = match refusal(&error) {
            Some(refusal) if is_missing_hint(refusal) || is_broken_off(refusal) => {
                Kind::MissingIndex
            }
            Some((Code::ChangeStreamFatalError | Code::ChangeStreamHistoryLost, _)) => {
                Kind::HistoryLost
            }
            _ => Kind::Driver,
        };
        Self::new(kind, collection).with_driver(error)
    }

    /// An error of a write, which maybe a `mongos` answered.
    pub(crate) fn write(
        error: DriverError,
        collection: impl Into<String>,
        behind_mongos: bool,
    ) -> Self {
        let kind = match refusal(&error) {
            _ if is_too_long(&error) => Kind::TooLarge,
            Some((Code::DuplicateKey, _)) => Kind::Duplicate,
            Some((Code::BSONObjectTooLarge | Code::Location17419 | Code::Location17420, _)) => {
                Kind::TooLarge
            }
            Some((Code::BadValue, message)) if message.contains("Failed to apply $inc") => {
                Kind::SumOverflow
            }
            Some(refusal) if is_missing_hint(refusal) || is_broken_off(refusal) => {
                Kind::MissingIndex
            }
            _ => Kind::Driver,
        };
        let mut new = Self::new(kind, collection);
        new.0.maybe_stored = maybe_stored(&error, behind_mongos);
        new.with_driver(error)
    }

    /// Replaces the kind, where the caller knows it better.
    #[doc(hidden)]
    pub fn known_as(mut self, kind: Kind) -> Self {
        self.0.kind = kind;
        self
    }

    /// An error of a write of many documents: those before the refused one may have changed.
    pub(crate) fn write_of_many(
        error: DriverError,
        collection: impl Into<String>,
        behind_mongos: bool,
    ) -> Self {
        let was_begun = write_error(&error).is_some();
        let new = Self::write(error, collection, behind_mongos);
        if was_begun { new.in_doubt() } else { new }
    }

    /// The kind of error in one word: the driver's kind, or ours.
    #[cfg(feature = "tracing")]
    pub(crate) fn type_name(&self) -> String {
        match (&self.0.kind, self.driver()) {
            (Kind::Driver, Some(error)) => type_of(error),
            (kind, _) => driver::first_word(kind),
        }
    }

    #[doc(hidden)]
    pub fn with_key(mut self, key: &str) -> Self {
        self.0.key = Some(key.to_owned());
        self
    }

    #[doc(hidden)]
    pub fn is(&self, kind: &Kind) -> bool {
        self.0.kind == *kind
    }

    /// Turns a capacity mismatch into the one of an outlier's extras.
    #[doc(hidden)]
    pub fn of_extras(mut self) -> Self {
        if let Kind::CapacityMismatch { stored, derived } = self.0.kind {
            self.0.kind = Kind::ExtrasCapacityMismatch { stored, derived };
        }
        self
    }

    #[doc(hidden)]
    pub fn in_doubt(mut self) -> Self {
        self.0.maybe_stored = true;
        self
    }

    #[doc(hidden)]
    pub fn not_sent(mut self) -> Self {
        self.0.maybe_stored = false;
        self
    }

    /// Whether every further item would fail the same way.
    #[doc(hidden)]
    pub fn is_fatal(&self) -> bool {
        match self.0.kind {
            Kind::Driver => !self.is_refusal(),
            Kind::MissingIndex | Kind::Stopped => true,
            _ => false,
        }
    }

    /// Whether the server refused a statement, perhaps because of a single item. A write that may
    /// have been stored is not refused: it must not be sent again.
    #[doc(hidden)]
    pub fn is_refusal(&self) -> bool {
        match self.0.kind {
            _ if self.0.maybe_stored => false,
            Kind::MissingIndex => false,
            Kind::TooLarge => true,
            _ => self.driver().and_then(write_error).is_some(),
        }
    }

    #[doc(hidden)]
    pub fn with_stored(mut self, items: usize) -> Self {
        self.0.stored = items;
        self
    }

    #[doc(hidden)]
    pub fn with_source(mut self, source: Box<dyn StdError + Send + Sync>) -> Self {
        self.0.source = Some(Source::Other(source.into()));
        self
    }

    #[doc(hidden)]
    pub fn with_driver(mut self, mut error: DriverError) -> Self {
        if restore_refusal_of_transactions(&mut error) {
            self.0.kind = Kind::NoTransactions;
        }
        self.0.source = Some(Source::Driver(error));
        self
    }

    /// The collection, as `database.collection`.
    pub fn collection(&self) -> &str {
        &self.0.collection
    }

    /// The key as readable text: its fields, separated by commas.
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// The driver's error, with its codes and labels (such as `TransientTransactionError`).
    pub fn driver(&self) -> Option<&DriverError> {
        match &self.0.source {
            Some(Source::Driver(error)) => Some(error),
            _ => None,
        }
    }

    /// The commands of MongoDB's shell that create the indexes that the collection lacks, if that
    /// is the error.
    pub fn missing_indexes(&self) -> &[String] {
        match &self.0.kind {
            Kind::MissingIndexes(commands) => commands,
            _ => &[],
        }
    }

    /// Whether the user lacks a privilege that the call needs; the text names it. The server
    /// carried out nothing of the refused command.
    pub fn is_unauthorized(&self) -> bool {
        (self.driver()).is_some_and(|error| is_code(error, Code::Unauthorized))
    }

    /// Whether the item of the failed call may have been stored anyway; for several items, whether
    /// any beyond those that [`stored`](Self::stored) counts may have been.
    ///
    /// `false` is a promise: nothing else was stored, and sending the item again cannot store it
    /// twice. `true` means that there is no proof. The answer was lost (a cut connection, a primary
    /// that stepped down), it says that the write was interrupted (a killed operation, a time
    /// limit), or it says that the write concern was not reached. Check before you send the item
    /// again.
    ///
    /// For a call that changes, removes or creates something, it says whether any of that may have
    /// happened.
    pub fn is_maybe_stored(&self) -> bool {
        self.0.maybe_stored
    }

    /// How many items of the failed call are certainly stored, counted from the first.
    pub fn stored(&self) -> usize {
        self.0.stored
    }
}

impl AsRef<Self> for Error {
    fn as_ref(&self) -> &Self {
        self
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

/// For `?` in the closures of the driver's `and_run`, which retries a transaction if the error has
/// the label `TransientTransactionError`. The result is the driver's own error with its labels, if
/// there was one, else a custom error that holds ours.
impl From<Error> for DriverError {
    fn from(error: Error) -> Self {
        match error.0.source {
            Some(Source::Driver(driver)) => driver,
            _ => Self::custom(error),
        }
    }
}

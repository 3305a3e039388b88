//! Edits and removals of all items that match, of one key or of all keys.

use std::{error::Error as StdError, fmt};

use bucket_core::{
    error::count,
    protocol::{command::KeyScope, filter::Filter},
    server::call::{Span, span},
};
use mongodb::ClientSession;

use super::{step::Edit, sweep::Sweep};
use crate::{Bucket, Buckets, Error, KeyRef, call::Call};

impl<T: Bucket> Buckets<T> {
    /// Changes all items of a key that match: reads those of a bucket, calls the closure for each,
    /// writes them back by one update, and goes on with the next bucket. Returns how many items
    /// differ from before.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, bson::DateTime};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
    /// # struct Trade { customer_id: i64, date: DateTime, ticker: String, quantity: i32 }
    /// # async fn example(trades: bucket_runtime::Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let renamed = Trade::FIELDS.ticker.eq("FB");
    /// let changed = trades.update_items(&123, renamed, |trade| trade.ticker = "META".into()).await?;
    /// println!("{changed} trades of Meta");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For each bucket all of [`update_item`](Self::update_item) holds: items are written back as a
    /// whole and keep their places, and if another writer changes one of them in between, those of
    /// this bucket are read again, and the closure runs again for each. Items that are appended
    /// meanwhile are changed or not.
    ///
    /// Round trips: one for 500 buckets that may hold a match, and two for each of these buckets.
    /// After an error, a panic of the closure, or a dropped future, the items of some buckets are
    /// changed, and those of each other bucket are not. Call it again to go on; let the filter
    /// exclude items that are changed already, or the closure gets them again.
    ///
    /// # Errors
    ///
    /// An [`EditManyError`](crate::EditManyError) says how far the call came. It holds one of the
    /// errors of [`update_item`](Self::update_item), at the first bucket that has one; items of one
    /// bucket that are more than a command can carry are
    /// [`is_too_large`](crate::Error::is_too_large). A document or an item that cannot be read does
    /// not end the call: its bucket stays as it is, the others are done, and then the first
    /// [`is_deserialize`](crate::Error::is_deserialize) is returned.
    pub fn update_items<'s>(
        &self,
        key: KeyRef<'_, T>,
        filter: Filter<T>,
        change: impl FnMut(&mut T) + Send + 's,
    ) -> WriteMany<'s> {
        let edit = Edit::Update(Box::new(change));
        self.edit_all(Some(self.scope(key).key), filter, edit)
    }

    /// Changes all items that match, of all keys, in the order of the buckets' ids. Otherwise like
    /// [`update_items`](Self::update_items); like [`all_items`](Self::all_items) it visits the
    /// buckets of all keys unless the filter or an index bounds it.
    pub fn update_all_items<'s>(
        &self,
        filter: Filter<T>,
        change: impl FnMut(&mut T) + Send + 's,
    ) -> WriteMany<'s> {
        self.edit_all(None, filter, Edit::Update(Box::new(change)))
    }

    /// Removes all items of a key that match, and returns how many. Items that the struct cannot
    /// read are removed, too.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, bson::DateTime};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "readings", id = "{sensor}_{at/1d}", capacity = 1440)]
    /// # struct Reading { sensor: i64, at: DateTime, celsius: f64 }
    /// # async fn example(readings: bucket_runtime::Buckets<Reading>, limit: DateTime) -> bucket_runtime::Result<()> {
    /// // Keeps what this sensor measured since the limit.
    /// let removed = readings.remove_items(&7, Reading::FIELDS.at.lt(limit)).await?;
    /// println!("{removed} readings are gone");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For each bucket all of [`remove_item`](Self::remove_item) holds: one update removes the
    /// items and corrects what the bucket keeps; a bucket that was full is sealed; one that would
    /// be empty is deleted, unless it is numbered, and full or sealed. With time windows, if the
    /// filter is a range of times alone, buckets whose whole window lies in the range are deleted
    /// without a look at their items.
    ///
    /// Round trips: one for 500 buckets that may hold a match, and two for each of these buckets;
    /// one for a bucket that is deleted as a whole. After an error or a dropped future, some
    /// buckets are done: call it again to go on.
    ///
    /// # Errors
    ///
    /// An [`EditManyError`](crate::EditManyError) says how far the call came. It holds one of the
    /// errors of [`remove_item`](Self::remove_item), at the first bucket that has one. A document
    /// that is not a bucket of this struct does not end the call: it stays as it is, the others are
    /// done, and then the first [`is_deserialize`](crate::Error::is_deserialize) is returned.
    #[doc(alias = "retention", alias = "delete_many")]
    pub fn remove_items<'s>(&self, key: KeyRef<'_, T>, filter: Filter<T>) -> WriteMany<'s> {
        self.edit_all(Some(self.scope(key).key), filter, Edit::RemoveStored)
    }

    /// Removes all items that match, of all keys, in the order of the buckets' ids. Otherwise like
    /// [`remove_items`](Self::remove_items).
    pub fn remove_all_items<'s>(&self, filter: Filter<T>) -> WriteMany<'s> {
        self.edit_all(None, filter, Edit::RemoveStored)
    }

    fn edit_all<'s>(
        &self,
        key: Option<KeyScope>,
        filter: Filter<T>,
        mut edit: Edit<'s, T>,
    ) -> WriteMany<'s> {
        let engine = self.engine();
        Call::new(edit.span_of_many(), move |settings| async move {
            let mut sweep = Sweep::new(engine, key, filter, settings);
            let done = sweep.run(&mut edit).await;
            sweep.finish(done)
        })
    }
}

impl<T> Edit<'_, T> {
    /// The span of a call for all items that match.
    pub(crate) fn span_of_many(&self) -> fn() -> Span {
        match self {
            Self::Update(_) => span!(update_items),
            _ => span!(remove_items),
        }
    }
}

/// An edit or a removal of many items that is not sent yet: await it. The method that returns it
/// says what it does; the output is the number of items.
pub type WriteMany<'s> = Call<'s, u64, SweepSettings<'s>, EditManyError>;

/// The settings of an edit or a removal of many items.
#[derive(Default)]
pub struct SweepSettings<'s> {
    pub(super) session: Option<&'s mut ClientSession>,
    pub(super) progress: Option<Box<dyn FnMut(EditProgress) + Send + 's>>,
}

impl<'s> WriteMany<'s> {
    /// Reads and writes in this session; in a transaction, all documents change at one moment, or
    /// none.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.settings.session = Some(session.into());
        self
    }

    /// Calls this after each document.
    pub fn on_progress(mut self, progress: impl FnMut(EditProgress) + Send + 's) -> Self {
        self.settings.progress = Some(Box::new(progress));
        self
    }
}

/// The progress of an edit or a removal of many items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditProgress {
    /// How many buckets were visited; of a parent's items, how many documents.
    pub buckets: u64,
    /// How many items were changed or removed.
    pub items: u64,
}

/// An edit or a removal of many items that ended at a bucket, or that left out documents which
/// cannot be read ([`Error::is_deserialize`]) and did all the others. What it did stands, except in
/// a transaction.
#[derive(Debug, Clone)]
pub struct EditManyError {
    pub(super) so_far: EditProgress,
    /// Whether all buckets are done that can be read.
    pub(super) is_end: bool,
    pub(super) error: Error,
}

impl EditManyError {
    /// The progress up to the error.
    pub fn so_far(&self) -> EditProgress {
        self.so_far
    }

    /// Why it ended. [`Error::is_maybe_stored`] is about the items of the bucket at which it ended.
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl fmt::Display for EditManyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EditProgress { buckets, items } = self.so_far;
        let done = format!("{} in {}", count(items, "item"), count(buckets, "bucket"));
        let error = &self.error;
        if self.is_end {
            return write!(
                f,
                "done with {done}, and all that is unreadable stays as it was, first: {error}"
            );
        }
        write!(f, "after {done}, at the next bucket: {error}")
    }
}

impl StdError for EditManyError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.error)
    }
}

impl AsRef<Error> for EditManyError {
    fn as_ref(&self) -> &Error {
        &self.error
    }
}

impl From<EditManyError> for Error {
    fn from(error: EditManyError) -> Self {
        error.error
    }
}

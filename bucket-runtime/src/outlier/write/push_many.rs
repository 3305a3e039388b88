//! The push of many items, across the threshold.

use std::{collections::HashSet, fmt};

use bucket_core::{error::count, server::call::span};

use crate::{
    Error,
    call::{InSession, Write},
    outlier::{IdRef, Outlier, Outliers},
};

impl<T: Outlier> Outliers<T> {
    /// Pushes items in order, across the threshold: as many as fit into the parent, the others into
    /// extras. Each command carries as many as its document has room for. Returns how many it
    /// stored: all, unless items are [`unique`](macro@crate::Outlier#unique), and some are there
    /// already, or twice among the items. Of no items it stores none and sends nothing, whether
    /// there is such a parent or not.
    ///
    /// # Errors
    ///
    /// [`PushManyError`](crate::PushManyError) returns the items that were not acknowledged; those
    /// before them are stored, unless the error [`is_not_found`](Error::is_not_found): another call
    /// has then deleted them with the parent. Otherwise like [`push`](Self::push).
    pub fn push_many<'s, I: Into<T::Item>>(
        &self,
        id: IdRef<'_, T>,
        items: impl IntoIterator<Item = I>,
    ) -> Write<'s, u64, PushManyError<T::Item>> {
        let parent = self.parent(id);
        let items: Vec<T::Item> = items.into_iter().map(Into::into).collect();
        Write::new(span!(push_many), |InSession(session)| async move {
            let entries = items.iter().map(|item| parent.pushed_entry::<T>(item));
            let entries: Vec<_> = match entries.collect() {
                Ok(entries) => entries,
                Err(error) => return Err(PushManyError { error, rest: items }),
            };
            let mut batch = parent.batch(entries);
            let Err(error) = parent.push(&mut batch, session).await else {
                return Ok(batch.count_stored());
            };
            let left: HashSet<_> = batch.owners().map(|owner| owner.at).collect();
            let rest = (0..).zip(items).filter(|(place, _)| left.contains(place));
            let rest = rest.map(|(_, item)| item).collect();
            Err(PushManyError { error, rest })
        })
    }
}

/// A push of many items that failed on the way: the reason, and the items that were not
/// acknowledged.
///
/// The items before them are stored, in order, or were there before. If
/// [`error.is_maybe_stored()`](Error::is_maybe_stored), the rest, or a first part of it, may be
/// stored, too.
#[derive(Debug)]
#[non_exhaustive]
pub struct PushManyError<I> {
    /// Why the push stopped.
    pub error: Error,
    /// The items that were not acknowledged, in order.
    pub rest: Vec<I>,
}

impl<I> fmt::Display for PushManyError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = count(self.rest.len() as u64, "item");
        write!(f, "{} ({rest} not stored)", self.error)
    }
}

impl<I: fmt::Debug> std::error::Error for PushManyError<I> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl<I> AsRef<Error> for PushManyError<I> {
    fn as_ref(&self) -> &Error {
        &self.error
    }
}

impl<I> From<PushManyError<I>> for Error {
    fn from(error: PushManyError<I>) -> Self {
        error.error
    }
}

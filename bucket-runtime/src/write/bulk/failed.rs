//! The items that a bulk append did not store.

use std::{error::Error as StdError, fmt};

use bucket_core::error::count;

use crate::Error;

/// An item that was not stored, and why.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FailedItem<T> {
    /// The position of the item in the call, counted from 0.
    pub index: u64,
    /// The item.
    pub item: T,
    /// Why it was not stored; [`Error::is_maybe_stored`] says whether that is uncertain.
    pub error: Error,
}

/// An append of many items that did not store all of them.
///
/// All other items are stored, except in a [session](crate::action::AppendMany::session), where
/// none is. No further items are taken from the caller's iterator or stream after an error that
/// affects more than single items, such as a lost connection, or once the failed items would exceed
/// the [`buffer`](crate::action::AppendMany::buffer): pass `iter.by_ref()` to keep the rest.
#[derive(Debug, Clone)]
pub struct AppendManyError<T> {
    pub(super) stored: u64,
    /// At least one.
    pub(super) failed: Vec<FailedItem<T>>,
}

impl<T> AppendManyError<T> {
    /// No item is stored, all for this reason; at least one.
    pub(super) fn of_all(items: Vec<T>, error: &Error) -> Self {
        let failed = items.into_iter().zip(0..).map(|(item, index)| FailedItem {
            index,
            item,
            error: error.clone(),
        });
        Self {
            stored: 0,
            failed: failed.collect(),
        }
    }

    /// How many items are stored.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// The items that were not stored, in the order of the call.
    pub fn failed(&self) -> &[FailedItem<T>] {
        &self.failed
    }

    /// The items that were not stored, in the order of the call.
    pub fn into_failed(self) -> Vec<FailedItem<T>> {
        self.failed
    }
}

impl<T> fmt::Display for AppendManyError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stored, failed } = self;
        let are = |n: u64| if n == 1 { "is" } else { "are" };
        let (items, lost) = (count(*stored, "item"), failed.len() as u64);
        let FailedItem { index, error, .. } = &failed[0];
        let (stored, not) = (are(*stored), are(lost));
        write!(
            f,
            "{items} {stored} stored, {lost} {not} not; item {index}: {error}"
        )
    }
}

impl<T: fmt::Debug> StdError for AppendManyError<T> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.failed[0].error)
    }
}

/// The error of the first item that was not stored.
impl<T> AsRef<Error> for AppendManyError<T> {
    fn as_ref(&self) -> &Error {
        &self.failed[0].error
    }
}

/// The error of the first item that was not stored.
impl<T> From<AppendManyError<T>> for Error {
    fn from(mut error: AppendManyError<T>) -> Self {
        error.failed.swap_remove(0).error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bucket_core::error::Kind;

    fn failed(stored: u64, failed: u64) -> String {
        let item = |index| FailedItem {
            index,
            item: (),
            error: Error::new(Kind::Contended(3), "shop.trades"),
        };
        let failed = (0..failed).map(item).collect();
        let text = AppendManyError { stored, failed }.to_string();
        text.split(';').next().unwrap().to_owned()
    }

    #[test]
    fn counts_read_right() {
        assert_eq!(failed(1, 1), "1 item is stored, 1 is not");
        assert_eq!(failed(2, 3), "2 items are stored, 3 are not");
    }
}

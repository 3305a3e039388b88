//! The items of a read, one by one.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::stream::{BoxStream, Stream, StreamExt};

use super::{
    token::ItemToken,
    trail::{Passed, Trail},
};
use crate::{Result, server::call::Calls};

/// Items, in the order of their buckets' ids, and within a bucket in the order in which they were
/// appended; or all of them in reverse.
///
/// It holds one batch of the driver and one bucket at a time. Dropping it closes the server's cursor.
pub struct ItemStream<'s, T> {
    pub(super) rows: BoxStream<'s, Result<Row<T>>>,
    items: std::vec::IntoIter<T>,
    pub(super) trail: Trail,
    /// The call that reads.
    calls: Calls,
}

/// The items of one row of a read, and the positions that they leave behind.
pub(super) struct Row<T> {
    /// The items in the order of the read.
    pub(super) items: std::vec::IntoIter<T>,
    pub(super) passed: Passed,
}

impl<'s, T> ItemStream<'s, T> {
    pub(super) fn new(rows: impl Stream<Item = Result<Row<T>>> + Send + 's, trail: Trail) -> Self {
        Self {
            rows: rows.boxed(),
            items: Vec::new().into_iter(),
            trail,
            calls: Calls::current(),
        }
    }

    /// The position after the last item that was given, for [`after`](crate::action::Items::after);
    /// before the first one, the token that the read started with.
    ///
    /// It needs no round trip, and hashes up to eight items.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, ItemToken, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut history = trades.items(alice).await?;
    /// history.try_next().await?;
    /// let token = history.token();
    ///
    /// // Later, perhaps in another process: the second item and all others.
    /// if let Some(token) = token {
    ///     let rest = trades.items(alice).after(&token).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn token(&self) -> Option<ItemToken> {
        self.trail.token(self.items.len())
    }
}

// Items are moved out of their bucket; nothing is ever pinned in place.
impl<T> Unpin for ItemStream<'_, T> {}

impl<T> Stream for ItemStream<'_, T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.items.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(self.rows.poll_next_unpin(cx)) {
                Some(Ok(row)) => {
                    self.calls.items(row.items.len() as u64);
                    self.items = row.items;
                    self.trail.push(row.passed);
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

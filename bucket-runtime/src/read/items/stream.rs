//! The items of a read, one by one.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::stream::{BoxStream, Stream, StreamExt};

use crate::Result;

/// Items, in the order of their buckets' ids, and within a bucket in the order in which they were
/// appended; or all of them in reverse.
///
/// It holds one batch of the driver and one bucket at a time. Dropping it closes the server's cursor.
pub struct ItemStream<'s, T> {
    buckets: BoxStream<'s, Result<std::vec::IntoIter<T>>>,
    items: std::vec::IntoIter<T>,
}

impl<'s, T> ItemStream<'s, T> {
    pub(super) fn new(
        buckets: impl Stream<Item = Result<std::vec::IntoIter<T>>> + Send + 's,
    ) -> Self {
        Self {
            buckets: buckets.boxed(),
            items: Vec::new().into_iter(),
        }
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
            match ready!(self.buckets.poll_next_unpin(cx)) {
                Some(Ok(items)) => self.items = items,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

//! The streams that have nothing but their values.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::stream::{BoxStream, Stream, StreamExt};

use crate::Result;

/// A stream of what a read gives, in the order of the read: of pages, parents, documents of extras,
/// rollups of time windows, or lines of an export.
///
/// It holds one batch of the driver at a time. Dropping it closes the server's cursor.
pub struct ReadStream<'s, T>(BoxStream<'s, Result<T>>);

impl<'s, T> ReadStream<'s, T> {
    #[doc(hidden)]
    pub fn new(values: impl Stream<Item = Result<T>> + Send + 's) -> Self {
        Self(values.boxed())
    }
}

impl<T> Stream for ReadStream<'_, T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

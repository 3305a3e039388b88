//! The items of a parent, one by one.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    vec::IntoIter,
};

use futures_util::stream::{BoxStream, Stream, StreamExt, try_unfold};

use super::{
    extras::{ExtrasBucket, get_with_extras},
    item_form::ParentItemForm,
    parent_read::ParentRead,
    rows::ParentRows,
};
use crate::{Result, read::stream::ReadStream};

/// The items of a parent: its own, then the extras in the order in which they were stored; or all
/// of them in reverse.
///
/// It holds the parent's items, one batch of the driver's and one extras document at a time.
pub struct ParentItemStream<'s, I>(Source<'s, I>);

enum Source<'s, I> {
    Documents(DocumentItems<'s, I>),
    Rows(BoxStream<'s, Result<I>>),
}

/// The items of whole documents: cheaper than single items if all are wanted.
struct DocumentItems<'s, I> {
    newest_first: bool,
    /// The items of one document that are still to be given.
    items: IntoIter<I>,
    extras: Option<ReadStream<'s, ExtrasBucket<I>>>,
    /// The parent's items, if they come last.
    last: Vec<I>,
}

impl<'s, I: Send + 'static> ParentItemStream<'s, I> {
    /// All items. Whether there are extras is known when the parent has been read, so in reverse
    /// order the parent's items wait.
    pub(super) async fn of_documents<F: ParentItemForm<Item = I>>(
        read: ParentRead<'s, F::Of, F>,
        newest_first: bool,
    ) -> Result<Self> {
        let (own, extras) = match get_with_extras(read, newest_first).await? {
            Some((parent, extras)) => (F::own_items(parent), extras),
            None => (Vec::new(), None),
        };
        let (first, last) = match newest_first && extras.is_some() {
            true => (Vec::new(), own),
            false => (own, Vec::new()),
        };
        Ok(Self(Source::Documents(DocumentItems {
            newest_first,
            items: first.into_iter(),
            extras,
            last,
        })))
    }

    /// The items of these rows.
    pub(super) fn of_rows<F: ParentItemForm<Item = I>>(rows: ParentRows<'s>) -> Self {
        let items = try_unfold(rows, async |mut rows| {
            let item = rows.next_item::<F::StoredItem>().await?;
            Ok(item.map(|item| (F::item(item), rows)))
        });
        Self(Source::Rows(items.boxed()))
    }
}

impl<I> DocumentItems<'_, I> {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<I>>> {
        loop {
            let item = match self.newest_first {
                false => self.items.next(),
                true => self.items.next_back(),
            };
            if let Some(item) = item {
                return Poll::Ready(Some(Ok(item)));
            }
            let Some(extras) = &mut self.extras else {
                return Poll::Ready(None);
            };
            match ready!(extras.poll_next_unpin(cx)) {
                Some(Ok(bucket)) => self.items = bucket.items.into_iter(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    self.extras = None;
                    self.items = std::mem::take(&mut self.last).into_iter();
                }
            }
        }
    }
}

// Items are moved out of the documents; nothing is ever pinned in place.
impl<I> Unpin for ParentItemStream<'_, I> {}

impl<I> Stream for ParentItemStream<'_, I> {
    type Item = Result<I>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut self.0 {
            Source::Documents(items) => items.poll_next(cx),
            Source::Rows(items) => items.poll_next_unpin(cx),
        }
    }
}

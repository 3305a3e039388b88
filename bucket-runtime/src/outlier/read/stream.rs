//! The items of a parent, one by one.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::stream::{BoxStream, Stream, StreamExt, TryStreamExt, empty, iter, try_unfold};

use super::{
    extras::get_with_extras, item_form::ParentItemForm, parent_read::ParentRead, rows::ParentRows,
};
use crate::Result;

/// The items of a parent: its own, then the extras in the order in which they were stored; or all
/// of them in reverse.
///
/// It holds the parent's items, one batch of the driver's and one extras document at a time.
pub struct ParentItemStream<'s, I>(BoxStream<'s, Result<I>>);

impl<'s, I: Send + 'static> ParentItemStream<'s, I> {
    /// All items, of whole documents: cheaper than single items. Whether there are extras is known
    /// when the parent has been read, so in reverse order the parent's items wait.
    pub(super) async fn of_documents<F: ParentItemForm<Item = I>>(
        read: ParentRead<'s, F::Of, F>,
        newest_first: bool,
    ) -> Result<Self> {
        let Some((parent, extras)) = get_with_extras(read, newest_first).await? else {
            return Ok(Self(empty().boxed()));
        };
        let in_order = move |mut items: Vec<I>| {
            if newest_first {
                items.reverse();
            }
            iter(items.into_iter().map(Ok))
        };
        let own = in_order(F::own_items(parent));
        let extras = extras.map_ok(move |bucket| in_order(bucket.items));
        let extras = extras.try_flatten();
        Ok(Self(match newest_first {
            false => own.chain(extras).boxed(),
            true => extras.chain(own).boxed(),
        }))
    }

    /// The items of these rows.
    pub(super) fn of_rows<F: ParentItemForm<Item = I>>(rows: ParentRows<'s>) -> Self {
        let items = try_unfold(rows, async |mut rows| {
            while let Some(row) = rows.next().await? {
                if let Some(item) = rows.read(&row)? {
                    return Ok(Some((F::item(item), rows)));
                }
            }
            Ok(None)
        });
        Self(items.boxed())
    }
}

// Items are moved out of the documents; nothing is ever pinned in place.
impl<I> Unpin for ParentItemStream<'_, I> {}

impl<I> Stream for ParentItemStream<'_, I> {
    type Item = Result<I>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

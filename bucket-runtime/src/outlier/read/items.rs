//! Streams of the items of one parent.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::stream::{Stream, StreamExt};

use super::{
    extras::{ExtrasStream, get_with_extras},
    parent_read::{ParentRead, parent_read_settings},
};
use crate::{
    Result,
    outlier::{IdRef, Outlier, Outliers},
};

impl<T: Outlier> Outliers<T> {
    /// All items as a stream in bounded memory: the parent's, then the extras in the order in which
    /// they were stored. Empty if there is no such parent.
    ///
    /// ```no_run
    /// # use bucket_runtime::{IdRef, Outlier, Outliers};
    /// # async fn example<Book: Outlier<Item = String>>(books: Outliers<Book>, id: IdRef<'_, Book>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut buyers = books.items(id).await?;
    /// while let Some(buyer) = buyers.try_next().await? {
    ///     // …
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn items(&self, id: IdRef<'_, T>) -> ParentItems<'static, T> {
        ParentItems(ParentRead::new(self.parent(id)))
    }
}

/// Builder of a read of all items of a parent: await it; see
/// [`Outliers::items`](crate::Outliers::items).
#[must_use = "nothing is read until this is awaited"]
pub struct ParentItems<'s, T>(ParentRead<'s, T>);

impl<'s, T: Outlier> ParentItems<'s, T> {
    parent_read_settings! {
        /// Leaves out the items that cannot be read as [`Outlier::Item`], and calls the closure for each:
        /// other programs may have written them, or an earlier version of the type. Without it, the first
        /// one of the parent is an error before there is a stream, and one of an extras document ends the
        /// stream. A parent that cannot be read for another reason is an error all the same.
        ///
        /// The stream borrows what the closure does. An error names the document, and the item by its
        /// place in the array.
        ///
        /// ```no_run
        /// # use bucket_runtime::{IdRef, Outlier, Outliers};
        /// # async fn example<Book: Outlier>(books: Outliers<Book>, id: IdRef<'_, Book>) -> bucket_runtime::Result<()> {
        /// use futures_util::TryStreamExt;
        ///
        /// let mut unreadable = Vec::new();
        /// let buyers = books.items(id).skip_unreadable(|error| unreadable.push(error)).await?;
        /// let buyers: Vec<Book::Item> = buyers.try_collect().await?;
        /// println!("{} buyers, and {} that cannot be read", buyers.len(), unreadable.len());
        /// # Ok(())
        /// # }
        /// ```
    }

    pub(crate) async fn execute(self) -> Result<ParentItemStream<'s, T::Item>> {
        let (items, extras) = match get_with_extras(self.0).await? {
            Some((mut parent, extras)) => (std::mem::take(parent.items_mut()), extras),
            None => (Vec::new(), None),
        };
        Ok(ParentItemStream {
            items: items.into_iter(),
            extras,
        })
    }
}

/// The items of a parent: its own, then the extras in the order in which they were stored.
///
/// It holds the parent's items, then one batch of the driver's and one extras document at a time.
pub struct ParentItemStream<'s, I> {
    items: std::vec::IntoIter<I>,
    extras: Option<ExtrasStream<'s, I>>,
}

// Items are moved out of the documents; nothing is ever pinned in place.
impl<I> Unpin for ParentItemStream<'_, I> {}

impl<I> Stream for ParentItemStream<'_, I> {
    type Item = Result<I>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.items.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            let Some(extras) = &mut self.extras else {
                return Poll::Ready(None);
            };
            match ready!(extras.poll_next_unpin(cx)) {
                Some(Ok(bucket)) => self.items = bucket.items.into_iter(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.extras = None,
            }
        }
    }
}

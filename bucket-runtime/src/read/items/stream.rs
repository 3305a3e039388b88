//! The items of a read, one by one, each as a whole item or as a part of it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::stream::Stream;

use super::{Items, buckets::BucketRows, rows::ItemRows, token::ItemToken};
use crate::{
    Bucket, Part, Result,
    read::{
        part::{PartOf, Whole},
        stored_bucket::OfElement,
    },
};

/// The form in which a read gives each element: as a whole item or a part.
pub trait ItemForm: 'static {
    /// The struct of the items.
    type Of: Bucket;

    /// The type that a stored element is read into.
    type Stored: OfElement<Self::Of> + Send + 'static;

    /// The item that the read gives.
    type Item: Send + 'static;

    /// The stored names of the fields to read, if not all.
    fn names() -> Option<Vec<&'static str>>;

    /// Adds the key, where it is not there yet.
    fn item(key: &<Self::Of as Bucket>::Key, stored: Self::Stored) -> Self::Item;
}

impl<T: Bucket> ItemForm for Whole<T> {
    type Of = T;
    type Stored = T::Element;
    type Item = T;

    fn names() -> Option<Vec<&'static str>> {
        None
    }

    fn item(key: &T::Key, stored: T::Element) -> T {
        T::from_parts(key.clone(), stored)
    }
}

impl<P: Part<Of: Bucket>> ItemForm for PartOf<P> {
    type Of = P::Of;
    type Stored = Self;
    type Item = P;

    fn names() -> Option<Vec<&'static str>> {
        Some(P::NAMES.concat())
    }

    fn item(_: &<P::Of as Bucket>::Key, stored: Self) -> P {
        stored.0
    }
}

/// Items, in the order of their buckets' ids, and within a bucket in the order in which they were
/// appended; or all of them in reverse.
///
/// It holds one batch of the driver and one bucket at a time. Dropping it closes the server's
/// cursor.
pub struct ItemStream<'s, T>(StreamRows<'s, T>);

enum StreamRows<'s, T> {
    Buckets(BucketRows<'s, T>),
    Items(ItemRows<'s, T>),
}

impl<'s, T: Send + 'static> ItemStream<'s, T> {
    pub(super) async fn open<E: ItemForm<Item = T>>(
        mut items: Items<'s, E::Of, E>,
    ) -> Result<Self> {
        let start = items.start()?;
        let Items {
            list,
            session,
            on_unreadable,
            ..
        } = items;
        let list = Arc::new(list);
        let query = &list.query;
        Ok(Self(if query.limit == Some(0) {
            StreamRows::Buckets(BucketRows::none(list, start.position))
        } else if query.takes_whole_buckets() {
            let rows = BucketRows::open::<E>(list, start, session, on_unreadable);
            StreamRows::Buckets(rows.await?)
        } else {
            let rows = ItemRows::open::<E>(list, start, session, on_unreadable);
            StreamRows::Items(rows.await?)
        }))
    }
}

impl<T> ItemStream<'_, T> {
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
        match &self.0 {
            StreamRows::Buckets(rows) => rows.token(),
            StreamRows::Items(rows) => rows.place.token(&rows.list),
        }
    }
}

// Items are moved out of their bucket; nothing is ever pinned in place.
impl<T> Unpin for ItemStream<'_, T> {}

impl<T> Stream for ItemStream<'_, T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut self.0 {
            StreamRows::Buckets(rows) => rows.poll_next(cx),
            StreamRows::Items(rows) => rows.poll_next(cx),
        }
    }
}

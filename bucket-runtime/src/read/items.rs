//! Streams of the items of one key or of all keys, with or without a condition.

mod list;
mod page;
mod place;
mod rows;
mod stream;
mod token;

use std::marker::PhantomData;

use bucket_core::{
    protocol::{filter::Filter, query::Query},
    server::{call::span, target::OwnedTarget},
};

pub(crate) use self::stream::ItemForm;
pub(crate) use self::{
    list::ItemList,
    place::{ReadPlace, RowSource, resume},
};
pub use self::{
    page::{ItemPage, PageOfItems, PagePlace},
    stream::ItemStream,
    token::ItemToken,
};
use crate::{
    Bucket, Buckets, KeyRef, Part,
    call::Call,
    read::{
        part::{PartOf, Whole},
        settings::{DocumentSettings, stream_settings},
    },
};

impl<T: Bucket> Buckets<T> {
    /// Streams all items of a key across its buckets, in bounded memory. [`Items`] has methods for
    /// a filter, the reverse order, and a limit.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut history = trades.items(alice).await?;
    /// while let Some(trade) = history.try_next().await? {
    ///     // …
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn items(&self, key: KeyRef<'_, T>) -> Items<'static, T> {
        Items::new(self.target(key))
    }

    /// Streams the items of all keys, or those that match a filter, in the order of their buckets'
    /// ids: key by key, in the order of the keys' text. Otherwise like [`items`](Self::items).
    ///
    /// If the filter fixes the first key fields with `eq`, the server visits only the ids of those
    /// keys; otherwise it visits all buckets, unless one of your indexes serves the filter. With
    /// time windows, a filter on the time selects the buckets of its windows, so an index on the
    /// field `window` serves it.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, ticker: String }
    /// # async fn example(trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let mongo = trades.all_items().filter(Trade::FIELDS.ticker.eq("MDB")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn all_items(&self) -> Items<'static, T> {
        Items::new(self.target_of_all())
    }
}

/// Builder of a read of the items of one key or of all keys: await it. The output is an
/// [`ItemStream`].
///
/// One round trip per batch. With a filter, or with a limit or a token far smaller than the
/// buckets, the server unwinds them and sends only the matching items; otherwise it sends whole
/// buckets. A few items take one round trip more where whole buckets turn out to hold less than
/// their capacity.
///
/// ```no_run
/// # use bucket_runtime::{Bucket, bson::DateTime};
/// # #[derive(Bucket)]
/// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
/// # struct Trade { customer_id: i64, date: DateTime, ticker: String, quantity: i32 }
/// # async fn example(db: bucket_runtime::mongodb::Database, from: DateTime, to: DateTime) -> bucket_runtime::Result<()> {
/// use futures_util::TryStreamExt;
///
/// let trades = Trade::buckets(&db).await?;
/// let large = Trade::FIELDS.quantity.gte(100).and(Trade::FIELDS.date.between(from..to));
/// let mut newest = trades.items(&123).filter(large).newest_first().limit(20).await?;
/// while let Some(trade) = newest.try_next().await? {
///     println!("{} {}", trade.quantity, trade.ticker);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is read until this is awaited"]
pub struct Items<'s, T, F = Whole<T>> {
    list: ItemList,
    after: Option<ItemToken>,
    read: DocumentSettings<'s>,
    form: PhantomData<fn() -> (T, F)>,
}

impl<'s, T: Bucket> Items<'s, T> {
    fn new(target: OwnedTarget) -> Self {
        let list = ItemList {
            spec: const { &T::SPEC },
            target,
            query: Query::everything(),
        };
        Self {
            list,
            after: None,
            read: DocumentSettings::default(),
            form: PhantomData,
        }
    }

    /// Has the server send only some fields of the items: those of a struct that derives [`Part`].
    ///
    /// The network carries less, and the client decodes less; the server reads the whole buckets
    /// all the same. The stored names of the part's fields decide, so an element that lacks one is
    /// unreadable unless the field is an `Option` or has a default.
    pub fn parts<P: Part<Of = T>>(self) -> Items<'s, T, PartOf<P>> {
        Items {
            list: self.list,
            after: self.after,
            read: self.read,
            form: PhantomData,
        }
    }
}

impl<'s, T: Bucket, F> Items<'s, T, F> {
    /// Returns only the items that match; called again, those that match both conditions.
    ///
    /// The server visits the buckets of the key. If conditions fix the first key fields with `eq`,
    /// it visits the buckets of those keys; with an index of your own on the key and a field of the
    /// items (`{ customerId: 1, "history.ticker": 1 }`) it visits only the buckets that hold a
    /// match. It unwinds only buckets that hold a match.
    ///
    /// With time windows (`{date/1h}`), a condition on the time limits what is visited: for a key,
    /// only the buckets of windows that can hold a matching item, by their ids. With another time
    /// ordinal a bucket's id is the time of its first item, and the others may be earlier or later,
    /// so a range of times excludes no bucket.
    pub fn filter(mut self, filter: Filter<T>) -> Self {
        self.list.query.filter = self.list.query.filter.and(filter.node);
        self
    }

    /// Returns the items in reverse order: the last bucket first, and its last item first.
    pub fn newest_first(mut self) -> Self {
        self.list.query.newest_first = true;
        self
    }

    /// Skips the first items (of those that match).
    ///
    /// The server reads the buckets of these items, and counts the items one by one. For pages far
    /// from the start take the tokens of [`page_of_items`](Self::page_of_items): they visit only
    /// the page's own buckets.
    pub fn skip(mut self, items: u64) -> Self {
        self.list.query.skip = items;
        self
    }

    /// Goes on after the position of a token: one of [`ItemStream::token`] or of an [`ItemPage`],
    /// from a read of the same list. In reverse order it gives the items before that position, the
    /// nearest first.
    ///
    /// No item is given that the read before it gave, and none is left out, even if items were
    /// appended or removed since; [`ItemToken`] says what it takes for that. It visits only the
    /// buckets from there on, so the last page of a list is as fast as the first.
    ///
    /// With a filter or a limit, it takes two more round trips if items before the position were
    /// removed from its bucket, or the item next to it was changed.
    ///
    /// # Errors
    ///
    /// [`is_token_mismatch`](crate::Error::is_token_mismatch) if the token is of another key,
    /// filter, struct or collection. Nothing is read then.
    pub fn after(mut self, token: &ItemToken) -> Self {
        self.after = Some(token.clone());
        self
    }

    /// Ends after this many items; with 0 nothing is sent.
    pub fn limit(mut self, items: u64) -> Self {
        self.list.query.limit = Some(items);
        self
    }

    stream_settings! {
        |items| items.read,
        /// Skips the items that the struct cannot read, and calls the closure for each: other
        /// programs may have written them, or an earlier version of the struct. Without it, the
        /// first such item ends the stream with an error. They count for [`skip`](Self::skip) and
        /// [`limit`](Self::limit).
        ///
        /// The stream borrows the closure's borrows.
        /// [`verify`](https://docs.rs/bucket-ops/latest/bucket_ops/struct.Ops.html#method.verify)
        /// lists these items by bucket and index, and
        /// [`remove_stored`](crate::Buckets::remove_stored) removes one.
        ///
        /// ```no_run
        /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
        /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
        /// use futures_util::TryStreamExt;
        ///
        /// let mut unreadable = Vec::new();
        /// let readable = trades.items(alice).skip_unreadable(|error| unreadable.push(error)).await?;
        /// let readable: Vec<Trade> = readable.try_collect().await?;
        /// println!("{} trades, and {} that cannot be read", readable.len(), unreadable.len());
        /// # Ok(())
        /// # }
        /// ```
    }
}

impl<'s, T: Bucket, F: ItemForm<Of = T>> Items<'s, T, F> {
    /// Reads at most this many items as one page, with the tokens of its neighbours: what a list on
    /// a web page or in an API needs. 0 is taken for 1. The settings of the list come before this
    /// call; this number replaces a [`limit`](Self::limit).
    ///
    /// One round trip; one more where the buckets hold less than their capacity, and as many more
    /// as [`after`](Self::after) says.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, ItemToken};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, ticker: String }
    /// # async fn example(trades: Buckets<Trade>, query: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    /// let mongo = trades.items(&123).filter(Trade::FIELDS.ticker.eq("MDB"));
    /// let mut page = mongo.page_of_items(20);
    /// if let Some(token) = query { // …?after=AXa…
    ///     page = page.after(&token.parse()?);
    /// }
    /// let page = page.await?;
    /// println!("{} trades", page.items.len());
    /// if let Some(token) = page.next {
    ///     println!("next: ?after={token}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "pagination", alias = "cursor")]
    pub fn page_of_items(self, limit: u64) -> PageOfItems<'s, F::Item> {
        Call::new(span!(page_of_items), move |place| {
            self.page(limit.max(1), place)
        })
    }
}

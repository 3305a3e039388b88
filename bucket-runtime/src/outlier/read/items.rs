//! Streams of the items of one parent.

use std::marker::PhantomData;

use bucket_core::{
    protocol::{filter::Filter, query::Query},
    server::call::span,
};
use futures_util::stream::{StreamExt, TryStreamExt, empty, iter, try_unfold};

use super::{
    extras::get_with_extras,
    item_form::{ParentItemForm, PartsOfItems},
    rows::ParentRows,
};
use crate::{
    Part, Result,
    call::Call,
    outlier::{IdRef, Outlier, Outliers, parent_handle::ParentHandle},
    read::{
        items::{ItemPage, ItemToken, PageOfItems, PagePlace},
        part::Whole,
        settings::{DocumentSettings, stream_settings},
        stream::ReadStream,
    },
};

impl<T: Outlier> Outliers<T> {
    /// All items as a stream in bounded memory: the parent's, then the extras in the order in which
    /// they were stored. Empty if there is no such parent. [`ParentItems`] has methods for a
    /// filter, the reverse order, and pages.
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
        ParentItems {
            parent: self.parent(id),
            query: Query::everything(),
            read: DocumentSettings::default(),
            form: PhantomData,
        }
    }
}

/// Builder of a read of the items of a parent: await it; see
/// [`Outliers::items`](crate::Outliers::items).
///
/// The order is the parent's array, then extras documents that other programs wrote as the manual
/// does, then ours. A parent without the flag is read in one round trip, in either order.
///
/// ```no_run
/// # use bucket_runtime::{Fields, Outlier, Outliers};
/// # use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize, Outlier)]
/// #[outlier(collection = "users", reference = "user_id", threshold = 50)]
/// struct User {
///     _id: i64,
///     #[outlier(items)]
///     followers: Vec<Follower>,
/// }
///
/// #[derive(Debug, Serialize, Deserialize, Fields)]
/// struct Follower {
///     user: String,
///     since: i64,
/// }
///
/// # async fn example(users: Outliers<User>) -> bucket_runtime::Result<()> {
/// use futures_util::TryStreamExt;
///
/// let this_year = User::FIELDS.followers.item().since.gte(2026);
/// let mut newest = users.items(&7).filter(this_year).newest_first().limit(20).await?;
/// while let Some(follower) = newest.try_next().await? {
///     println!("{follower:?}");
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is read until this is awaited"]
pub struct ParentItems<'s, T, F = Whole<T>> {
    parent: ParentHandle,
    query: Query,
    read: DocumentSettings<'s>,
    form: PhantomData<fn() -> (T, F)>,
}

impl<'s, T: Outlier> ParentItems<'s, T> {
    /// Has the server send only some fields of the items, which are structs: those of a struct that
    /// derives [`Part`].
    ///
    /// The network carries less, and the client decodes less; the server reads the whole documents
    /// all the same. Of the parent only these fields of its items are read, so its other fields
    /// need not be readable. An item that lacks one of the part's fields is unreadable, unless the
    /// field is an `Option` or has a default. Conditions may name fields that are not read.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Fields, Outlier, Outliers, Part};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "users", reference = "user_id", threshold = 50)]
    /// # struct User { _id: i64, #[outlier(items)] followers: Vec<Follower> }
    /// # #[derive(Serialize, Deserialize, Fields)]
    /// # struct Follower { user: i64, since: i64, note: String }
    /// #[derive(Part)]
    /// #[part(of = Follower)]
    /// struct FollowerId {
    ///     user: i64,
    /// }
    ///
    /// # async fn example(users: Outliers<User>) -> bucket_runtime::Result<()> {
    /// let page = users.items(&7).newest_first().parts::<FollowerId>().page_of_items(20).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn parts<P: Part<Of = T::Item>>(self) -> ParentItems<'s, T, PartsOfItems<T, P>> {
        ParentItems {
            parent: self.parent,
            query: self.query,
            read: self.read,
            form: PhantomData,
        }
    }
}

impl<'s, T: Outlier, F> ParentItems<'s, T, F> {
    /// Returns only the items that match; called again, those that match both conditions.
    ///
    /// The server decides, and sends no other items. It visits all extras documents of the parent;
    /// with an index of your own on the reference and a field of the items
    /// (`{ user_id: 1, "followers_extra.user": 1 }`) only those that hold a match.
    ///
    /// The condition is on the type of the items, so one on another struct does not compile:
    ///
    /// ```compile_fail
    /// # use bucket_runtime::{Outlier, Outliers};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "users", reference = "user_id", threshold = 50)]
    /// # struct User { _id: i64, name: String, #[outlier(items)] followers: Vec<i64> }
    /// # async fn example(users: Outliers<User>) {
    /// users.items(&7).filter(User::FIELDS.name.eq("ann"));
    /// # }
    /// ```
    pub fn filter(mut self, filter: Filter<T::Item>) -> Self {
        self.query.filter = self.query.filter.and(filter.node);
        self
    }

    /// Returns the items in reverse order: the last extra first, and the parent's first item last.
    /// That is the order in which they arrived, whatever times they hold.
    pub fn newest_first(mut self) -> Self {
        self.query.newest_first = true;
        self
    }

    /// Skips the first items (of those that match).
    ///
    /// The server reads the documents of these items, and counts the items one by one; newest
    /// first, one more round trip counts the extras. For pages far from the start take the tokens
    /// of [`page_of_items`](Self::page_of_items).
    pub fn skip(mut self, items: u64) -> Self {
        self.query.skip = items;
        self
    }

    /// Ends after this many items.
    pub fn limit(mut self, items: u64) -> Self {
        self.query.limit = Some(items);
        self
    }

    stream_settings! {
        |items| items.read,
        /// Leaves out the items that cannot be read as [`Outlier::Item`], and calls the closure for
        /// each: other programs may have written them, or an earlier version of the type. Without
        /// it, the first one of the parent is an error before there is a stream, and one of an
        /// extras document ends the stream. They count for [`skip`](Self::skip) and
        /// [`limit`](Self::limit). A parent that cannot be read for another reason is an error all
        /// the same.
        ///
        /// The stream borrows what the closure does. An error names the document, and the item by
        /// its place in the array.
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
}

impl<'s, T: Outlier, F: ParentItemForm<Of = T>> ParentItems<'s, T, F> {
    /// Reads at most this many items as one page, with the tokens of its neighbours: what a list on
    /// a web page or in an API needs. 0 is taken for 1. The settings of the list come before this
    /// call; this number replaces a `limit`.
    ///
    /// One round trip for a parent without extras, and for a page from a token on that lies within
    /// the parent or its extras; one more for a page of both. Two more if items before the token's
    /// place were removed from its document.
    ///
    /// A token holds its place as [`ItemToken`] says: among the parent's own items as well as among
    /// the extras, and where items are equal in all fields, by their number alone. Moving items to
    /// extras by
    /// [`repair`](https://docs.rs/bucket-ops/latest/bucket_ops/struct.OutlierOps.html#method.repair)
    /// changes their places: a token from before it leads near its place.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, Outliers};
    /// # async fn example<User: Outlier<Id = i64>>(users: Outliers<User>, query: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut page = users.items(&7).newest_first().page_of_items(20);
    /// if let Some(token) = query { // …?after=AXa…
    ///     page = page.after(&token.parse()?);
    /// }
    /// let page = page.await?;
    /// println!("{} followers", page.items.len());
    /// if let Some(token) = page.next {
    ///     println!("next: ?after={token}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn page_of_items(self, limit: u64) -> PageOfItems<'s, F::Item> {
        Call::new(span!(page_of_items), move |place| {
            self.page(limit.max(1), place)
        })
    }

    async fn page(mut self, limit: u64, place: PagePlace) -> Result<ItemPage<F::Item>> {
        let PagePlace { token, backwards } = place;
        self.query.newest_first ^= backwards;
        // One more tells whether there are others.
        self.query.limit = Some(limit.saturating_add(1));
        let mut rows = self.rows(token.as_ref()).await?;
        let mut found = Vec::new();
        for _ in 0..limit {
            let Some(row) = rows.next().await? else {
                break;
            };
            found.extend(rows.read(&row)?.map(F::item));
            rows.place.note_given(row);
        }
        // If the next row cannot be read, that is an error of the next page.
        let has_more = !matches!(rows.next().await, Ok(None));
        let beyond = has_more.then(|| rows.place.token(&rows.list)).flatten();
        Ok(ItemPage::of_read(found, backwards, token, beyond))
    }

    pub(crate) async fn execute(self) -> Result<ReadStream<'s, F::Item>> {
        let query = &self.query;
        if query.filter.is_everything() && query.skip == 0 && query.limit.is_none() {
            return self.of_documents().await;
        }
        let rows = self.rows(None).await?;
        Ok(ReadStream::new(try_unfold(rows, async |mut rows| {
            while let Some(row) = rows.next().await? {
                if let Some(item) = rows.read(&row)? {
                    return Ok(Some((F::item(item), rows)));
                }
            }
            Ok(None)
        })))
    }

    /// All items, of whole documents: cheaper than single items. Whether there are extras is known
    /// when the parent has been read, so in reverse order the parent's items wait.
    async fn of_documents(self) -> Result<ReadStream<'s, F::Item>> {
        let newest_first = self.query.newest_first;
        let found = get_with_extras::<F>(self.parent, self.read, newest_first).await?;
        let Some((parent, extras)) = found else {
            return Ok(ReadStream::new(empty()));
        };
        let in_order = move |mut items: Vec<F::Item>| {
            if newest_first {
                items.reverse();
            }
            iter(items.into_iter().map(Ok))
        };
        let own = in_order(F::own_items(parent));
        let extras = extras.map_ok(move |bucket| in_order(bucket.items));
        let extras = extras.try_flatten();
        Ok(match newest_first {
            false => ReadStream::new(own.chain(extras)),
            true => ReadStream::new(extras.chain(own)),
        })
    }

    /// Starts a read of single items.
    async fn rows(self, after: Option<&ItemToken>) -> Result<ParentRows<'s>> {
        let (mut query, read) = (self.query, self.read);
        query.names = F::names();
        let parent = self.parent.read_with(&read);
        ParentRows::start(parent, query, read.session, read.more.0, after).await
    }
}

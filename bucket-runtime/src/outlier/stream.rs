//! Streams: over items, over extras, over parents.

use std::{
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::stream::{BoxStream, Stream, StreamExt, try_unfold};
use mongodb::{ClientSession, bson::Document};
use serde::de::DeserializeOwned;

use super::{
    collections::Collections,
    command::ParentScope,
    extra::Extra,
    handle::Outliers,
    read::{self, Reading, next_parent},
};
use crate::{
    Error, Result,
    outlier::{IdRef, Outlier, Parent},
    protocol::range::Range,
    read::{reader::next_bucket, settings::read_settings},
    server::{cursor::DocumentCursor, target::Target},
    value::{stored_bucket::StoredBucket, unreadable::Tell},
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
    pub fn items(&self, id: IdRef<'_, T>) -> Values<'static, T> {
        Values::new(&self.collections, self.scope(id))
    }

    /// The extras as a stream, page by page. It does not read the parent.
    pub fn extras(&self, id: IdRef<'_, T>) -> Extras<'static, T> {
        Extras::new(&self.collections, self.scope(id))
    }
}

/// One extras document.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExtrasPage<I> {
    /// The document's `_id`.
    pub id: String,
    /// The document's items, in the order in which they were stored.
    pub items: Vec<I>,
}

/// Reads the extras of a parent, page by page.
///
/// First the documents without a number, which the manual's commands wrote, then ours in order. It takes two
/// finds: their ids have different types, and the server sorts by type before value.
pub(crate) async fn open_extras<'s, T: Outlier>(
    collections: &Collections,
    scope: &ParentScope,
    session: Option<&'s mut ClientSession>,
    tell: Option<Tell<'s>>,
) -> Result<ExtrasStream<'s, T::Item>> {
    let reader = Reader {
        collections: collections.clone(),
        scope: scope.clone(),
    };
    collections.called_for(scope);
    let unnumbered = reader.find::<T>(scope.unnumbered_extras(), session).await?;
    let pages = try_unfold(
        (reader, unnumbered, false, tell),
        async |(reader, mut rows, mut numbered, mut tell)| {
            loop {
                if let Some(page) = reader.next(&mut rows, tell.as_mut()).await? {
                    return Ok(Some((page, (reader, rows, numbered, tell))));
                }
                if numbered {
                    return Ok(None);
                }
                let calls = rows.calls().clone();
                let numbered_extras = reader.find(reader.scope.extras.all(), rows.into_session());
                rows = calls.carry(numbered_extras).await?;
                numbered = true;
            }
        },
    );
    Ok(ExtrasStream(pages.boxed()))
}

/// The extras of one parent, for reading.
struct Reader {
    collections: Collections,
    scope: ParentScope,
}

impl Reader {
    async fn find<'s, T: Outlier>(
        &self,
        filter: Document,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, StoredBucket<Extra<T>>>> {
        let server = &self.collections.extras.server;
        let rows = server.find(filter, Range::oldest_first(), session).await;
        rows.map_err(|error| self.target().read_error(error))
    }

    async fn next<T: Outlier>(
        &self,
        rows: &mut DocumentCursor<'_, StoredBucket<Extra<T>>>,
        tell: Option<&mut Tell<'_>>,
    ) -> Result<Option<ExtrasPage<T::Item>>> {
        let Some(page) = next_bucket(self.target(), rows, tell).await? else {
            return Ok(None);
        };
        rows.give(page.elements.len());
        Ok(Some(ExtrasPage {
            id: page.id,
            items: page.elements,
        }))
    }

    fn target(&self) -> Target<'_> {
        (self.collections.extras).target_of(&self.scope.extras)
    }
}

/// A read of all extras of a parent that waits to be awaited; see
/// [`Outliers::extras`](crate::Outliers::extras).
#[must_use = "nothing is read until this is awaited"]
pub struct Extras<'s, T> {
    collections: Collections,
    scope: ParentScope,
    session: Option<&'s mut ClientSession>,
    tell: Option<Tell<'s>>,
    parent: PhantomData<fn() -> T>,
}

impl<'s, T: Outlier> Extras<'s, T> {
    pub(crate) fn new(collections: &Collections, scope: ParentScope) -> Self {
        Self {
            collections: collections.clone(),
            scope,
            session: None,
            tell: None,
            parent: PhantomData,
        }
    }

    read_settings!(
        |reads| reads.collections.parents,
        reads.collections.extras.server
    );

    /// Reads in this session, which the stream borrows.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Leaves out the items that cannot be read, and tells of each, as
    /// [`Values::skip_unreadable`] does. The stream borrows what the closure does.
    pub fn skip_unreadable(mut self, tell: impl FnMut(Error) + Send + 's) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }

    pub(crate) async fn execute(self) -> Result<ExtrasStream<'s, T::Item>> {
        open_extras::<T>(&self.collections, &self.scope, self.session, self.tell).await
    }
}

/// A read of all items of a parent that waits to be awaited; see
/// [`Outliers::items`](crate::Outliers::items).
#[must_use = "nothing is read until this is awaited"]
pub struct Values<'s, T>(Extras<'s, T>);

impl<'s, T: Outlier> Values<'s, T> {
    pub(crate) fn new(collections: &Collections, scope: ParentScope) -> Self {
        Self(Extras::new(collections, scope))
    }

    read_settings!(
        |reads| reads.0.collections.parents,
        reads.0.collections.extras.server
    );

    /// Reads in this session, which the stream borrows.
    pub fn session(self, session: impl Into<&'s mut ClientSession>) -> Self {
        Self(self.0.session(session))
    }

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
    pub fn skip_unreadable(self, tell: impl FnMut(Error) + Send + 's) -> Self {
        Self(self.0.skip_unreadable(tell))
    }

    pub(crate) async fn execute(self) -> Result<ValueStream<'s, T::Item>> {
        let Extras {
            collections,
            scope,
            session,
            tell,
            ..
        } = self.0;
        let found = read::get_with_extras::<T>(&collections, &scope, session, tell).await?;
        let (items, extras) = match found {
            Some((mut parent, extras)) => (std::mem::take(parent.items_mut()), extras),
            None => (Vec::new(), None),
        };
        Ok(ValueStream {
            page: items.into_iter(),
            extras,
        })
    }
}

/// The extras documents of a parent, in order.
pub struct ExtrasStream<'s, I>(BoxStream<'s, Result<ExtrasPage<I>>>);

impl<I> Stream for ExtrasStream<'_, I> {
    type Item = Result<ExtrasPage<I>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

/// The items of a parent: its own, then the extras in the order in which they were stored.
///
/// It holds the parent's items, then one batch of the driver's and one page at a time.
pub struct ValueStream<'s, I> {
    page: std::vec::IntoIter<I>,
    extras: Option<ExtrasStream<'s, I>>,
}

// Items are moved out of the page; nothing is ever pinned in place.
impl<I> Unpin for ValueStream<'_, I> {}

impl<I> Stream for ValueStream<'_, I> {
    type Item = Result<I>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.page.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            let Some(extras) = &mut self.extras else {
                return Poll::Ready(None);
            };
            match ready!(extras.poll_next_unpin(cx)) {
                Some(Ok(page)) => self.page = page.items.into_iter(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.extras = None,
            }
        }
    }
}

/// Parents, as the server finds them.
pub struct FindStream<'s, T>(BoxStream<'s, Result<Parent<T>>>);

impl<'s, T: Send + 'static> FindStream<'s, T> {
    pub(crate) fn new<R: DeserializeOwned + Send + 'static>(
        collections: Collections,
        rows: DocumentCursor<'s, R>,
        reading: Reading<R, T>,
        tell: Option<Tell<'s>>,
    ) -> Self {
        let parents = try_unfold(
            (collections, rows, reading, tell),
            async |(collections, mut rows, reading, mut tell)| {
                loop {
                    match next_parent(&collections, &mut rows, &reading, tell.as_mut()).await {
                        Ok(parent) => {
                            let rest = (collections, rows, reading, tell);
                            return Ok(parent.map(|parent| (parent, rest)));
                        }
                        Err(error) => match &mut tell {
                            // The next one may be read.
                            Some(tell) if error.is_deserialize() => tell(error),
                            _ => return Err(error),
                        },
                    }
                }
            },
        );
        Self(parents.boxed())
    }
}

impl<T> Stream for FindStream<'_, T> {
    type Item = Result<Parent<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

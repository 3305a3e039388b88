//! Streams: over items, over extras, over parents.

use std::{
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::stream::{BoxStream, Stream, StreamExt, try_unfold};
use mongodb::{ClientSession, bson::Document};

use super::{command::ParentScope, core::Core, extra::Extra, read};
use crate::{
    Error, Result,
    error::Kind,
    outlier::{Outlier, Parent},
    protocol::range::Range,
    server::cursor::{self, CursorError, DocumentCursor},
    value::stored_bucket::StoredBucket,
};

/// One extras document.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExtrasPage<I> {
    /// Its `_id`.
    pub id: String,
    /// Its items, in the order in which they were stored.
    pub items: Vec<I>,
}

/// Reads the extras of a parent, page by page.
///
/// First those without a number, which the manual's commands have written, then ours in order: two
/// finds, since their ids are of different types, and the server sorts by type before value.
pub(crate) async fn open_extras<'s, T: Outlier>(
    core: &Core,
    scope: &ParentScope,
    session: Option<&'s mut ClientSession>,
) -> Result<ExtrasStream<'s, T::Item>> {
    let reader = Reader {
        core: core.clone(),
        scope: scope.clone(),
    };
    let unnumbered = reader.find::<T>(scope.unnumbered_extras(), session).await?;
    let pages = try_unfold(
        (reader, unnumbered, false),
        async |(reader, mut rows, mut numbered)| {
            loop {
                if let Some(page) = reader.next(&mut rows).await? {
                    return Ok(Some((page, (reader, rows, numbered))));
                }
                if numbered {
                    return Ok(None);
                }
                rows = reader
                    .find(reader.scope.extras.all(), rows.into_session())
                    .await?;
                numbered = true;
            }
        },
    );
    Ok(ExtrasStream(pages.boxed()))
}

/// The extras of one parent, for reading.
struct Reader {
    core: Core,
    scope: ParentScope,
}

impl Reader {
    async fn find<'s, T: Outlier>(
        &self,
        filter: Document,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, StoredBucket<Extra<T>>>> {
        let server = &self.core.extras.server;
        let rows = server.find(filter, Range::oldest_first(), session).await;
        rows.map_err(|error| self.error(Kind::Driver).with_driver(error))
    }

    async fn next<T: Outlier>(
        &self,
        rows: &mut DocumentCursor<'_, StoredBucket<Extra<T>>>,
    ) -> Result<Option<ExtrasPage<T::Item>>> {
        match rows.next().await {
            Ok(page) => Ok(page.map(|page| ExtrasPage {
                id: page.id,
                items: page.elements,
            })),
            Err(CursorError::Driver(error)) => Err(self.error(Kind::Driver).with_driver(error)),
            Err(CursorError::Decode(row, error)) => Err(self
                .error(Kind::Deserialize(cursor::id(&row)))
                .with_driver(error)),
        }
    }

    fn error(&self, kind: Kind) -> Error {
        let name = self.core.extras.server.name();
        Error::new(kind, name).with_key(&self.scope.extras.label())
    }
}

/// A read of all extras of a parent that waits to be awaited; see
/// [`Outliers::extras`](crate::Outliers::extras).
#[must_use = "nothing is read until this is awaited"]
pub struct Extras<'s, T> {
    core: Core,
    scope: ParentScope,
    session: Option<&'s mut ClientSession>,
    parent: PhantomData<fn() -> T>,
}

impl<T: Outlier> Extras<'static, T> {
    pub(crate) fn new(core: &Core, scope: ParentScope) -> Self {
        Self {
            core: core.clone(),
            scope,
            session: None,
            parent: PhantomData,
        }
    }
}

impl<T: Outlier> Extras<'_, T> {
    /// Reads in this session, which the stream borrows.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> Extras<'s, T> {
        Extras {
            core: self.core,
            scope: self.scope,
            session: Some(session.into()),
            parent: PhantomData,
        }
    }
}

impl<'s, T: Outlier> Extras<'s, T> {
    pub(crate) async fn execute(self) -> Result<ExtrasStream<'s, T::Item>> {
        open_extras::<T>(&self.core, &self.scope, self.session).await
    }
}

/// A read of all items of a parent that waits to be awaited; see
/// [`Outliers::items`](crate::Outliers::items).
#[must_use = "nothing is read until this is awaited"]
pub struct Values<'s, T>(Extras<'s, T>);

impl<T: Outlier> Values<'static, T> {
    pub(crate) fn new(core: &Core, scope: ParentScope) -> Self {
        Self(Extras::new(core, scope))
    }
}

impl<T: Outlier> Values<'_, T> {
    /// Reads in this session, which the stream borrows.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> Values<'s, T> {
        Values(self.0.session(session))
    }
}

impl<'s, T: Outlier> Values<'s, T> {
    pub(crate) async fn execute(self) -> Result<ValueStream<'s, T::Item>> {
        let Extras {
            core,
            scope,
            mut session,
            ..
        } = self.0;
        let parent = read::get::<T>(&core, &scope, session.as_deref_mut()).await?;
        let (items, has_extras) = match parent {
            Some(mut parent) => {
                let items = std::mem::take(parent.document.items_mut());
                (items, parent.has_extras)
            }
            None => (Vec::new(), false),
        };
        let extras = match has_extras {
            true => Some(open_extras::<T>(&core, &scope, session).await?),
            false => None,
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

impl<'s, T: Outlier> FindStream<'s, T> {
    pub(crate) fn new(core: Core, rows: DocumentCursor<'s, T>) -> Self {
        let parents = try_unfold((core, rows), async |(core, mut rows)| {
            let parent = read::next_parent(&core, &mut rows).await?;
            Ok(parent.map(|parent| (parent, (core, rows))))
        });
        Self(parents.boxed())
    }
}

impl<T> Stream for FindStream<'_, T> {
    type Item = Result<Parent<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

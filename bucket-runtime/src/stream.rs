//! Streams over the pages and the items of a key, in bounded memory.

use std::{
    future::IntoFuture,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::{
    future::BoxFuture,
    stream::{BoxStream, Stream, StreamExt, try_unfold},
};
use mongodb::ClientSession;

use crate::{Bucket, Page, Result, read::Reader, server::Range};

/// A read of all pages of a key, which waits to be awaited. Its output is a [`PageStream`].
#[must_use = "nothing is read until this is awaited"]
pub struct Pages<'s, T> {
    reader: Reader,
    session: Option<&'s mut ClientSession>,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> Pages<'static, T> {
    pub(crate) fn new(reader: Reader) -> Self {
        Self {
            reader,
            session: None,
            item: PhantomData,
        }
    }
}

impl<T: Bucket> Pages<'_, T> {
    /// Reads in this session, which the stream borrows.
    pub fn session(self, session: &mut ClientSession) -> Pages<'_, T> {
        Pages {
            reader: self.reader,
            session: Some(session),
            item: PhantomData,
        }
    }
}

impl<'s, T: Bucket> IntoFuture for Pages<'s, T> {
    type Output = Result<PageStream<'s, T>>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self {
                reader, session, ..
            } = self;
            let rows = reader
                .server
                .find(reader.scope.all(), Range::oldest_first(), session)
                .await;
            let rows = rows.map_err(|error| reader.failed(error))?;
            let pages = try_unfold((reader, rows), async |(reader, mut rows)| {
                let page = reader.next(&mut rows).await?;
                Ok(page.map(|page| (page, (reader, rows))))
            });
            Ok(PageStream(pages.boxed()))
        })
    }
}

/// A read of all items of a key, which waits to be awaited. Its output is an [`ItemStream`].
#[must_use = "nothing is read until this is awaited"]
pub struct Items<'s, T>(Pages<'s, T>);

impl<T: Bucket> Items<'static, T> {
    pub(crate) fn new(reader: Reader) -> Self {
        Self(Pages::new(reader))
    }
}

impl<T: Bucket> Items<'_, T> {
    /// Reads in this session, which the stream borrows.
    pub fn session(self, session: &mut ClientSession) -> Items<'_, T> {
        Items(self.0.session(session))
    }
}

impl<'s, T: Bucket> IntoFuture for Items<'s, T> {
    type Output = Result<ItemStream<'s, T>>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            Ok(ItemStream {
                pages: self.0.await?,
                page: Vec::new().into_iter(),
            })
        })
    }
}

/// The pages of a key, in the order of their ids.
///
/// It holds one batch of the driver's at a time. Dropping it closes the server's cursor.
pub struct PageStream<'s, T>(BoxStream<'s, Result<Page<T>>>);

impl<T> Stream for PageStream<'_, T> {
    type Item = Result<Page<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

/// The items of a key, page by page, and within a page in the order in which they were appended.
///
/// It holds one batch of the driver's and one page at a time. Dropping it closes the server's
/// cursor.
pub struct ItemStream<'s, T> {
    pages: PageStream<'s, T>,
    page: std::vec::IntoIter<T>,
}

// Items are moved out of the page; nothing is ever pinned in place.
impl<T> Unpin for ItemStream<'_, T> {}

impl<T> Stream for ItemStream<'_, T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.page.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(self.pages.poll_next_unpin(cx)) {
                Some(Ok(page)) => self.page = page.into_iter(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

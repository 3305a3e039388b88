//! Reads of single pages and of numbers.

use std::{future::IntoFuture, marker::PhantomData};

use futures_util::future::BoxFuture;
use mongodb::{ClientSession, bson::Document};

use crate::{
    Bucket, Error, Result,
    error::Kind,
    protocol::{
        command::{self, KeyScope},
        range::Range,
    },
    read::page::Page,
    schema::id,
    server::{
        Server,
        cursor::{self, RowError, Rows},
    },
    value::{
        stored_bucket::StoredBucket,
        unreadable::{Tell, sift},
    },
};

/// One key of one collection, for reading.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) server: Server,
    pub(crate) scope: KeyScope,
}

impl Reader {
    /// The next page of a find. Elements that cannot be read are an error, unless somebody is told of
    /// them.
    pub(crate) async fn next<T: Bucket>(
        &self,
        rows: &mut Rows<'_, StoredBucket<T>>,
        tell: Option<&mut Tell<'_>>,
    ) -> Result<Option<Page<T>>> {
        let bucket = match rows.next().await {
            Ok(Some(bucket)) => bucket,
            Ok(None) => return Ok(None),
            Err(RowError::Driver(error)) => return Err(self.failed(error)),
            Err(RowError::Decode(row, error)) => sift(&row, error, tell, |error| {
                let id = cursor::id(&row);
                self.fail(Kind::Deserialize(id)).with_driver(error)
            })?,
        };
        Page::of(bucket, &self.scope)
            .map(Some)
            .map_err(|id| self.fail(Kind::ForeignId(id)))
    }

    pub(crate) fn failed(&self, error: mongodb::error::Error) -> Error {
        Error::read(error, self.server.name()).with_key(&self.scope.label())
    }

    pub(crate) fn fail(&self, kind: Kind) -> Error {
        Error::new(kind, self.server.name()).with_key(&self.scope.label())
    }
}

/// A read of one page, which waits to be awaited. Its output is `None` if there is no such page.
#[must_use = "a page is read when this is awaited"]
pub struct FindPage<'s, T> {
    reader: Reader,
    /// Where to look; nowhere if there cannot be such a page.
    at: Option<(Document, Range)>,
    session: Option<&'s mut ClientSession>,
    tell: Option<Tell<'s>>,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> FindPage<'static, T> {
    pub(crate) fn new(reader: Reader, at: Option<(Document, Range)>) -> Self {
        Self {
            reader,
            at,
            session: None,
            tell: None,
            item: PhantomData,
        }
    }
}

impl<'s, T: Bucket> FindPage<'s, T> {
    /// Reads in this session.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Leaves out the items that cannot be read, and tells of each, as
    /// [`Items::skip_unreadable`](crate::action::Items::skip_unreadable) does.
    pub fn skip_unreadable(mut self, tell: impl FnMut(Error) + Send + 's) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }
}

impl<'s, T: Bucket> IntoFuture for FindPage<'s, T> {
    type Output = Result<Option<Page<T>>>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            let Some((filter, range)) = self.at else {
                return Ok(None);
            };
            let range = Range {
                limit: Some(1),
                ..range
            };
            let rows = self.reader.server.find(filter, range, self.session).await;
            let mut rows = rows.map_err(|error| self.reader.failed(error))?;
            self.reader.next(&mut rows, self.tell.as_mut()).await
        })
    }
}

/// A count, which waits to be awaited.
#[must_use = "nothing is counted until this is awaited"]
pub struct Count<'s> {
    reader: Reader,
    what: Counted,
    session: Option<&'s mut ClientSession>,
}

/// What a [`Count`] counts.
pub(crate) enum Counted {
    Items,
    Pages,
}

impl Count<'static> {
    pub(crate) fn new(reader: Reader, what: Counted) -> Self {
        Self {
            reader,
            what,
            session: None,
        }
    }
}

impl Count<'_> {
    /// Counts in this session.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> Count<'s> {
        Count {
            reader: self.reader,
            what: self.what,
            session: Some(session.into()),
        }
    }
}

impl<'s> IntoFuture for Count<'s> {
    type Output = Result<u64>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Reader { server, scope } = &self.reader;
            let count = match self.what {
                Counted::Items => {
                    let sum = command::count_items(scope.spec, scope.all());
                    server.sum(sum, self.session).await
                }
                Counted::Pages => {
                    let pages = server.by_ids(scope, scope.ids());
                    server.count_documents(pages, self.session).await
                }
            };
            count.map_err(|error| self.reader.failed(error))
        })
    }
}

/// Where page `n` of a key is, counted from 1: at its own id if buckets are numbered, else so many
/// ids after the first.
pub(crate) fn nth(Reader { server, scope }: &Reader, n: u64) -> Option<(Document, Range)> {
    let before = n.checked_sub(1)?;
    // The server counts in signed numbers.
    i64::try_from(before).ok()?;
    if scope.spec.id.ordinal == crate::schema::spec::Ordinal::Number {
        let number = id::number(before)?;
        return Some((scope.exact(&number), Range::oldest_first()));
    }
    let range = Range {
        skip: before,
        ..Range::oldest_first()
    };
    Some((server.by_ids(scope, scope.ids()), range))
}

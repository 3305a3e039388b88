//! Reads of parents, and counts.

use std::marker::PhantomData;

use futures_util::stream::TryStreamExt;
use mongodb::{ClientSession, bson::Document};

use super::{
    command::ParentScope,
    core::Core,
    stream::{FindStream, open_extras},
};
use crate::{
    Error, Result,
    error::Kind,
    outlier::{Outlier, state::State, unreadable::sift_parent},
    protocol::range::Range,
    server::cursor::{self, CursorError, DocumentCursor},
    value::unreadable::Tell,
};

/// A parent as it is stored.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Parent<T> {
    /// The struct, with the items that the parent itself holds.
    pub document: T,
    /// Whether there may be more items, in extras.
    pub has_extras: bool,
}

/// The next parent of a find, and whether it is flagged.
pub(crate) async fn next_parent<T: Outlier>(
    core: &Core,
    rows: &mut DocumentCursor<'_, T>,
    tell: Option<&mut Tell<'_>>,
) -> Result<Option<Parent<T>>> {
    let flag = |raw: &mongodb::bson::RawDocument| raw.get_bool(T::SPEC.flag).unwrap_or(false);
    match rows.next_with(flag).await {
        Ok(row) => Ok(row.map(|(document, has_extras)| Parent {
            document,
            has_extras,
        })),
        Err(CursorError::Driver(error)) => Err(Error::read(error, core.parents.name())),
        Err(CursorError::Decode(row, error)) => {
            let document = sift_parent(&row, error, tell, |error| {
                let kind = Kind::Deserialize(cursor::id(&row));
                Error::new(kind, core.parents.name()).with_driver(error)
            });
            Ok(Some(Parent {
                document: document?,
                has_extras: flag(&row),
            }))
        }
    }
}

/// Reads a parent, in a session or not.
pub(crate) async fn get<T: Outlier>(
    core: &Core,
    scope: &ParentScope,
    session: Option<&mut ClientSession>,
    tell: Option<&mut Tell<'_>>,
) -> Result<Option<Parent<T>>> {
    let range = Range {
        limit: Some(1),
        ..Range::unordered()
    };
    let rows = core.parents.find(scope.parent(), range, session).await;
    let mut rows = rows.map_err(|error| core.failed(scope, error))?;
    let parent = next_parent(core, &mut rows, tell).await;
    parent.map_err(|error| error.with_key(&scope.extras.label()))
}

/// A read of one parent that waits to be awaited; see [`Outliers::get`](crate::Outliers::get).
#[must_use = "a parent is read when this is awaited"]
pub struct Get<'s, T> {
    core: Core,
    scope: ParentScope,
    session: Option<&'s mut ClientSession>,
    tell: Option<Tell<'s>>,
    parent: PhantomData<fn() -> T>,
}

impl<T: Outlier> Get<'static, T> {
    pub(crate) fn new(core: &Core, scope: ParentScope) -> Self {
        Self {
            core: core.clone(),
            scope,
            session: None,
            tell: None,
            parent: PhantomData,
        }
    }
}

impl<'s, T: Outlier> Get<'s, T> {
    /// Reads in this session.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Leaves out the items of the parent that cannot be read, and tells of each, as
    /// [`Values::skip_unreadable`](crate::action::Values::skip_unreadable) does.
    pub fn skip_unreadable(mut self, tell: impl FnMut(Error) + Send + 's) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }
}

impl<'s, T: Outlier> Get<'s, T> {
    pub(crate) async fn execute(self) -> Result<Option<Parent<T>>> {
        let Self {
            core,
            scope,
            session,
            mut tell,
            ..
        } = self;
        get(&core, &scope, session, tell.as_mut()).await
    }
}

/// A read of one parent with all of its items that waits to be awaited; see
/// [`Outliers::get_all`](crate::Outliers::get_all).
#[must_use = "a parent is read when this is awaited"]
pub struct GetAll<'s, T>(Get<'s, T>);

impl<T: Outlier> GetAll<'static, T> {
    pub(crate) fn new(core: &Core, scope: ParentScope) -> Self {
        Self(Get::new(core, scope))
    }
}

impl<'s, T: Outlier> GetAll<'s, T> {
    /// Reads in this session.
    pub fn session(self, session: impl Into<&'s mut ClientSession>) -> Self {
        Self(self.0.session(session))
    }

    /// Leaves out the items that cannot be read, and tells of each, as
    /// [`Values::skip_unreadable`](crate::action::Values::skip_unreadable) does.
    pub fn skip_unreadable(self, tell: impl FnMut(Error) + Send + 's) -> Self {
        Self(self.0.skip_unreadable(tell))
    }
}

impl<'s, T: Outlier> GetAll<'s, T> {
    pub(crate) async fn execute(self) -> Result<Option<T>> {
        let Get {
            core,
            scope,
            mut session,
            mut tell,
            ..
        } = self.0;
        let parent = get::<T>(&core, &scope, session.as_deref_mut(), tell.as_mut());
        let Some(parent) = parent.await? else {
            return Ok(None);
        };
        let mut document = parent.document;
        if parent.has_extras {
            let mut pages = open_extras::<T>(&core, &scope, session, tell).await?;
            while let Some(page) = pages.try_next().await? {
                document.items_mut().extend(page.items);
            }
        }
        Ok(Some(document))
    }
}

/// A count of items that waits to be awaited; see [`Outliers::count`](crate::Outliers::count).
#[must_use = "nothing is counted until this is awaited"]
pub struct CountValues<'s> {
    core: Core,
    scope: ParentScope,
    session: Option<&'s mut ClientSession>,
}

impl CountValues<'static> {
    pub(crate) fn new(core: &Core, scope: ParentScope) -> Self {
        Self {
            core: core.clone(),
            scope,
            session: None,
        }
    }
}

impl CountValues<'_> {
    /// Counts in this session.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> CountValues<'s> {
        CountValues {
            core: self.core,
            scope: self.scope,
            session: Some(session.into()),
        }
    }
}

impl<'s> CountValues<'s> {
    pub(crate) async fn execute(self) -> Result<u64> {
        let Self {
            core,
            scope,
            mut session,
        } = self;
        let state = core.state(&scope, false, session.as_deref_mut()).await?;
        let Some(State {
            length, flagged, ..
        }) = state
        else {
            return Ok(0);
        };
        if !flagged {
            return Ok(length as u64);
        }
        let extras = core.extras.server.sum(scope.count_extras(), session).await;
        Ok(length as u64 + extras.map_err(|error| core.failed(&scope, error))?)
    }
}

/// A find over parents that waits to be awaited; see [`Outliers::find`](crate::Outliers::find).
#[must_use = "nothing is read until this is awaited"]
pub struct Find<'s, T> {
    core: Core,
    filter: Document,
    range: Range,
    session: Option<&'s mut ClientSession>,
    tell: Option<Tell<'s>>,
    parent: PhantomData<fn() -> T>,
}

impl<T: Outlier> Find<'static, T> {
    pub(crate) fn new(core: &Core, filter: Document) -> Self {
        Self {
            core: core.clone(),
            filter,
            range: Range::unordered(),
            session: None,
            tell: None,
            parent: PhantomData,
        }
    }
}

impl<'s, T: Outlier> Find<'s, T> {
    /// The order of the parents; by default the order in which the server finds them.
    pub fn sort(mut self, sort: Document) -> Self {
        self.range.sort = Some(sort);
        self
    }

    /// Skips the first parents.
    pub fn skip(mut self, parents: u64) -> Self {
        self.range.skip = parents;
        self
    }

    /// Ends after this many parents.
    pub fn limit(mut self, parents: i64) -> Self {
        self.range.limit = Some(parents);
        self
    }

    /// Reads in this session, which the stream borrows.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Leaves out the items that cannot be read, and whole parents where something else in them cannot,
    /// and tells of each. Without it, the first one ends the stream with its error. The stream borrows
    /// what the closure does. They count for [`skip`](Self::skip) and [`limit`](Self::limit).
    pub fn skip_unreadable(mut self, tell: impl FnMut(Error) + Send + 's) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }
}

impl<'s, T: Outlier> Find<'s, T> {
    pub(crate) async fn execute(self) -> Result<FindStream<'s, T>> {
        let rows = self
            .core
            .parents
            .find(self.filter, self.range, self.session)
            .await;
        let name = self.core.parents.name();
        let rows = rows.map_err(|error| Error::read(error, name))?;
        Ok(FindStream::new(self.core, rows, self.tell))
    }
}

//! Reads of parents, and counts.

use std::marker::PhantomData;

use futures_util::stream::TryStreamExt;
use mongodb::{
    ClientSession,
    bson::{Document, RawDocument},
    error::Error as DriverError,
};
use serde::de::DeserializeOwned;

use super::{
    collections::Collections,
    command::ParentScope,
    handle::Outliers,
    stream::{ExtrasStream, FindStream, open_extras},
};
use crate::{
    Error, Result,
    outlier::{
        IdRef, Outlier,
        filter::ParentFilter,
        part::{FindParts, OutlierPart, ParentPart},
        state::State,
        unreadable::sift_parent,
    },
    protocol::{command::each_one, range::Range},
    read::settings::read_settings,
    server::cursor::{CursorError, DocumentCursor},
    value::unreadable::Tell,
};

impl<T: Outlier> Outliers<T> {
    /// The parent as it is stored, with up to `threshold` items, and whether there are more. One
    /// round trip, whatever the number of extras.
    ///
    /// ```no_run
    /// # use bucket_runtime::{IdRef, Outlier, Outliers};
    /// # async fn example<Book: Outlier>(books: Outliers<Book>, id: IdRef<'_, Book>) -> bucket_runtime::Result<()> {
    /// if let Some(book) = books.get(id).await? {
    ///     println!("{}", if book.has_extras { "… and more" } else { "all of them" });
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(&self, id: IdRef<'_, T>) -> Get<'static, T> {
        Get::new(&self.collections, self.scope(id))
    }

    /// The parent with all of its items joined, in memory. One round trip if it has no extras. To read many
    /// items, take [`items`](Self::items).
    pub fn get_all(&self, id: IdRef<'_, T>) -> GetAll<'static, T> {
        GetAll::new(&self.collections, self.scope(id))
    }

    /// How many items there are, the parent's and the extras', counted by the server. One round
    /// trip, or two for an outlier; 0 if there is no such parent.
    pub fn count(&self, id: IdRef<'_, T>) -> CountValues<'static> {
        CountValues::new(&self.collections, self.scope(id))
    }

    /// Parents that match a filter (typed conditions, or a [`Document`]), as a stream. It never reads the
    /// extras, so an outlier costs no more than any other parent.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, Outliers};
    /// # use bucket_runtime::mongodb::bson::doc;
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "sales", reference = "book_id", threshold = 50)]
    /// # struct Book { _id: i64, title: String, year: i32, #[outlier(items)] buyers: Vec<String> }
    /// # async fn example(books: Outliers<Book>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let recent = Book::FIELDS.year.gte(2020);
    /// let mut recent = books.find(recent).sort(doc! { "title": 1 }).await?;
    /// while let Some(book) = recent.try_next().await? {
    ///     // …
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn find(&self, filter: impl ParentFilter<T>) -> Find<'static, T> {
        Find::new(&self.collections, filter.into_document())
    }
}

/// A parent as it is stored.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Parent<T> {
    /// The struct, with the items that the parent itself holds.
    pub document: T,
    /// Whether there may be more items, in extras.
    pub has_extras: bool,
}

/// The way in which a read turns stored rows `R` into parents or parts of them.
pub(crate) struct Reading<R, P = R> {
    flag: &'static str,
    document: fn(R) -> P,
    /// Reads a parent without its unreadable items, or gives the error.
    sift: Sift<P>,
}

type Sift<P> = fn(
    &RawDocument,
    DriverError,
    Option<&mut Tell<'_>>,
    &dyn Fn(DriverError) -> Error,
) -> Result<P>;

impl<T: Outlier> Reading<T> {
    pub(crate) const WHOLE: Self = Self {
        flag: T::SPEC.flag,
        document: |row| row,
        sift: sift_parent::<T>,
    };
}

impl<P: OutlierPart> Reading<ParentPart<P>, P> {
    pub(crate) const PART: Self = Self {
        flag: P::Of::SPEC.flag,
        document: |row| row.0,
        sift: |_, error, _, fail| Err(fail(error)),
    };
}

/// The next parent of a find, and whether it is flagged.
pub(crate) async fn next_parent<R: DeserializeOwned, P>(
    collections: &Collections,
    rows: &mut DocumentCursor<'_, R>,
    reading: &Reading<R, P>,
    tell: Option<&mut Tell<'_>>,
) -> Result<Option<Parent<P>>> {
    let flag = |raw: &RawDocument| raw.get_bool(reading.flag).unwrap_or(false);
    match rows.next_with(flag).await {
        Ok(row) => Ok(row.map(|(row, has_extras)| Parent {
            document: (reading.document)(row),
            has_extras,
        })),
        Err(CursorError::Decode(row, error)) => {
            let fail = |error| collections.parents.target().unreadable_parent(&row, error);
            Ok(Some(Parent {
                document: (reading.sift)(&row, error, tell, &fail)?,
                has_extras: flag(&row),
            }))
        }
        Err(error) => Err(collections.parents.target().row_error(error)),
    }
}

/// Reads a parent, in a session or not.
pub(crate) async fn get<T: Outlier>(
    collections: &Collections,
    scope: &ParentScope,
    session: Option<&mut ClientSession>,
    tell: Option<&mut Tell<'_>>,
) -> Result<Option<Parent<T>>> {
    let range = Range {
        limit: Some(1),
        ..Range::unordered()
    };
    collections.called_for(scope);
    let rows = collections
        .parents
        .find(scope.parent(), range, session)
        .await;
    let mut rows = rows.map_err(|error| collections.target_of(scope).read_error(error))?;
    let parent = next_parent(collections, &mut rows, &Reading::WHOLE, tell).await;
    parent.map_err(|error| error.with_key(&scope.extras.label()))
}

/// Reads a parent, and opens the stream of its extras if it has any.
pub(crate) async fn get_with_extras<'s, T: Outlier>(
    collections: &Collections,
    scope: &ParentScope,
    mut session: Option<&'s mut ClientSession>,
    mut tell: Option<Tell<'s>>,
) -> Result<Option<(T, Option<ExtrasStream<'s, T::Item>>)>> {
    let parent = get::<T>(collections, scope, session.as_deref_mut(), tell.as_mut()).await?;
    let Some(parent) = parent else {
        return Ok(None);
    };
    let extras = match parent.has_extras {
        true => Some(open_extras::<T>(collections, scope, session, tell).await?),
        false => None,
    };
    Ok(Some((parent.document, extras)))
}

/// A read of one parent that waits to be awaited; see [`Outliers::get`](crate::Outliers::get).
#[must_use = "a parent is read when this is awaited"]
pub struct Get<'s, T> {
    collections: Collections,
    scope: ParentScope,
    session: Option<&'s mut ClientSession>,
    tell: Option<Tell<'s>>,
    parent: PhantomData<fn() -> T>,
}

impl<'s, T: Outlier> Get<'s, T> {
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

    pub(crate) async fn execute(self) -> Result<Option<Parent<T>>> {
        let Self {
            collections,
            scope,
            session,
            mut tell,
            ..
        } = self;
        get(&collections, &scope, session, tell.as_mut()).await
    }
}

/// A read of one parent with all of its items that waits to be awaited; see
/// [`Outliers::get_all`](crate::Outliers::get_all).
#[must_use = "a parent is read when this is awaited"]
pub struct GetAll<'s, T>(Get<'s, T>);

impl<'s, T: Outlier> GetAll<'s, T> {
    pub(crate) fn new(collections: &Collections, scope: ParentScope) -> Self {
        Self(Get::new(collections, scope))
    }

    read_settings!(
        |reads| reads.0.collections.parents,
        reads.0.collections.extras.server
    );

    /// Reads in this session.
    pub fn session(self, session: impl Into<&'s mut ClientSession>) -> Self {
        Self(self.0.session(session))
    }

    /// Leaves out the items that cannot be read, and tells of each, as
    /// [`Values::skip_unreadable`](crate::action::Values::skip_unreadable) does.
    pub fn skip_unreadable(self, tell: impl FnMut(Error) + Send + 's) -> Self {
        Self(self.0.skip_unreadable(tell))
    }

    pub(crate) async fn execute(self) -> Result<Option<T>> {
        let Get {
            collections,
            scope,
            session,
            tell,
            ..
        } = self.0;
        let found = get_with_extras::<T>(&collections, &scope, session, tell).await?;
        let Some((mut document, extras)) = found else {
            return Ok(None);
        };
        if let Some(mut pages) = extras {
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
    collections: Collections,
    scope: ParentScope,
    session: Option<&'s mut ClientSession>,
}

impl<'s> CountValues<'s> {
    pub(crate) fn new(collections: &Collections, scope: ParentScope) -> Self {
        Self {
            collections: collections.clone(),
            scope,
            session: None,
        }
    }

    read_settings!(
        |reads| reads.collections.parents,
        reads.collections.extras.server
    );

    /// Counts in this session.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(self) -> Result<u64> {
        let Self {
            collections,
            scope,
            mut session,
        } = self;
        collections.called_for(&scope);
        let state = collections
            .state(&scope, false, session.as_deref_mut())
            .await?;
        let Some(State {
            length, flagged, ..
        }) = state
        else {
            return Ok(0);
        };
        if !flagged {
            return Ok(length as u64);
        }
        let extras = collections
            .extras
            .server
            .sum(scope.count_extras(), session)
            .await;
        Ok(length as u64
            + extras.map_err(|error| collections.target_of(&scope).read_error(error))?)
    }
}

/// A find over parents that waits to be awaited; see [`Outliers::find`](crate::Outliers::find).
#[must_use = "nothing is read until this is awaited"]
pub struct Find<'s, T> {
    collections: Collections,
    filter: Document,
    range: Range,
    session: Option<&'s mut ClientSession>,
    tell: Option<Tell<'s>>,
    parent: PhantomData<fn() -> T>,
}

impl<'s, T: Outlier> Find<'s, T> {
    pub(crate) fn new(collections: &Collections, filter: Document) -> Self {
        Self {
            collections: collections.clone(),
            filter,
            range: Range::unordered(),
            session: None,
            tell: None,
            parent: PhantomData,
        }
    }

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

    read_settings!(|reads| reads.collections.parents);

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

    /// Has the server send only some fields of the parents: those of a struct that derives
    /// [`OutlierPart`]. Without the array, a parent costs the network the same however many items it
    /// has.
    pub fn parts<P: OutlierPart<Of = T>>(self) -> FindParts<'s, P> {
        FindParts::new(self)
    }

    pub(crate) async fn execute(self) -> Result<FindStream<'s, T>> {
        self.read(Reading::WHOLE).await
    }

    pub(super) async fn read<R: DeserializeOwned + Send + 'static, P: Send + 'static>(
        self,
        reading: Reading<R, P>,
    ) -> Result<FindStream<'s, P>> {
        let rows = self
            .collections
            .parents
            .find(self.filter, self.range, self.session)
            .await;
        let name = self.collections.parents.name();
        let rows = rows.map_err(|error| Error::read(error, name))?;
        Ok(FindStream::new(self.collections, rows, reading, self.tell))
    }

    /// Reads only these fields, and the flag.
    pub(super) fn only(mut self, names: &[&'static str]) -> Self {
        let names = names.iter().copied().chain([T::SPEC.flag]);
        self.range.projection = Some(each_one(names));
        self
    }
}

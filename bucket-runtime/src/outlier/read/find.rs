//! Parents that match a filter: whole, or a part of each.

use std::{
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::stream::{BoxStream, Stream, StreamExt, empty, try_unfold};
use mongodb::{ClientSession, bson::Document};

use super::{
    filter::ParentFilter,
    parent::{Parent, ParentForm, PartOfParent, WholeParent, next_parent},
};
use crate::{
    Result,
    outlier::{Outlier, OutlierPart, Outliers},
    protocol::range::Range,
    read::settings::{read_settings, session_setting, unreadable_setting},
    server::{Server, cursor::DocumentCursor},
    value::unreadable::OnUnreadable,
};

impl<T: Outlier> Outliers<T> {
    /// Parents that match a filter (typed conditions, or a [`Document`]), as a stream. It never reads the
    /// extras, so an outlier costs no more than any other parent.
    ///
    /// Conditions on items ([`any`](crate::Field::any), [`contains`](crate::Field::contains)) see the parent's own
    /// items and not its extras: an outlier that has a match among its extras alone is not found.
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
        Find {
            find: FindParents {
                parents: self.collections.parents.clone(),
                filter: filter.into_document(),
                range: Range::unordered(),
                session: None,
                on_unreadable: None,
            },
            of: PhantomData,
        }
    }
}

/// A find over parents, before it is sent.
struct FindParents<'s> {
    parents: Server,
    filter: Document,
    range: Range,
    session: Option<&'s mut ClientSession>,
    on_unreadable: Option<OnUnreadable<'s>>,
}

/// Adds the setters to a builder whose field `find` is a [`FindParents`]. The docs are those of
/// `skip_unreadable`.
macro_rules! find_settings {
    ($(#[$doc:meta])+) => {
        /// The order of the parents; by default the order in which the server finds them.
        pub fn sort(mut self, sort: Document) -> Self {
            self.find.range.sort = Some(sort);
            self
        }

        /// Skips the first parents.
        pub fn skip(mut self, parents: u64) -> Self {
            self.find.range.skip = parents;
            self
        }

        /// Ends after this many parents; 0 gives none, without a round trip.
        pub fn limit(mut self, parents: u64) -> Self {
            self.find.range.limit = Some(i64::try_from(parents).unwrap_or(i64::MAX));
            self
        }

        read_settings!(|call| call.find.parents);

        session_setting! {
            /// Reads in this session, which the stream borrows.
            |call| call.find.session
        }

        unreadable_setting! {
            $(#[$doc])+
            |call| call.find.on_unreadable
        }
    };
}

/// Builder of a find over parents: await it; see [`Outliers::find`](crate::Outliers::find).
#[must_use = "nothing is read until this is awaited"]
pub struct Find<'s, T> {
    find: FindParents<'s>,
    of: PhantomData<fn() -> T>,
}

impl<'s, T: Outlier> Find<'s, T> {
    find_settings! {
        /// Leaves out the items that cannot be read, and whole parents where something else in them cannot,
        /// and tells of each. Without it, the first one ends the stream with its error. The stream borrows
        /// what the closure does. They count for [`skip`](Self::skip) and [`limit`](Self::limit).
    }

    /// Has the server send only some fields of the parents: those of a struct that derives
    /// [`OutlierPart`]. Without the array, a parent costs the network the same however many items it
    /// has.
    pub fn parts<P: OutlierPart<Of = T>>(self) -> FindParts<'s, P> {
        FindParts {
            find: self.find,
            of: PhantomData,
        }
    }

    pub(crate) async fn execute(self) -> Result<FindStream<'s, T>> {
        self.find.read::<WholeParent<T>>().await
    }
}

/// Builder of a find of some fields of parents: await it; see [`Find::parts`]. The output is a
/// [`FindStream`] of [`Parent`](crate::Parent)s, each with a part as its document.
#[must_use = "nothing is read until this is awaited"]
pub struct FindParts<'s, P: OutlierPart> {
    find: FindParents<'s>,
    of: PhantomData<fn() -> P>,
}

impl<'s, P: OutlierPart> FindParts<'s, P> {
    find_settings! {
        /// Leaves out the parents that cannot be read, as [`Find::skip_unreadable`] does.
    }

    pub(crate) async fn execute(self) -> Result<FindStream<'s, P>> {
        self.find.read::<PartOfParent<P>>().await
    }
}

impl<'s> FindParents<'s> {
    async fn read<F: ParentForm>(self) -> Result<FindStream<'s, F::Document>> {
        // For the server, 0 is no limit.
        if self.range.limit == Some(0) {
            return Ok(FindStream(empty().boxed()));
        }
        let range = Range {
            projection: F::projection(),
            ..self.range
        };
        let found = self.parents.target().find(self.filter, range);
        let reader = FoundParents::<F> {
            rows: found.cursor(self.session).await?,
            parents: self.parents,
            on_unreadable: self.on_unreadable,
        };
        Ok(FindStream(try_unfold(reader, FoundParents::next).boxed()))
    }
}

/// Parents, as the server finds them.
pub struct FindStream<'s, T>(BoxStream<'s, Result<Parent<T>>>);

impl<T> Stream for FindStream<'_, T> {
    type Item = Result<Parent<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

/// The parents that a find has still to give.
struct FoundParents<'s, F: ParentForm> {
    parents: Server,
    rows: DocumentCursor<'s, F::Stored>,
    on_unreadable: Option<OnUnreadable<'s>>,
}

impl<F: ParentForm> FoundParents<'_, F> {
    async fn next(mut self) -> Result<Option<(Parent<F::Document>, Self)>> {
        loop {
            let (target, on_unreadable) = (self.parents.target(), self.on_unreadable.as_mut());
            match next_parent::<F>(target, &mut self.rows, on_unreadable).await {
                Ok(Some(parent)) => return Ok(Some((parent, self))),
                Ok(None) => return Ok(None),
                Err(error) => match &mut self.on_unreadable {
                    // The next one may be read.
                    Some(report) if error.is_deserialize() => report(error),
                    _ => return Err(error),
                },
            }
        }
    }
}

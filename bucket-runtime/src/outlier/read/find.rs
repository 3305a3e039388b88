//! Parents that match a filter: whole, or a part of each.

use std::marker::PhantomData;

use bucket_core::{protocol::range::Range, server::Server};
use futures_util::stream::{empty, try_unfold};
use mongodb::bson::Document;

use super::{
    filter::ParentFilter,
    parent::{Parent, ParentForm, next_parent},
};
use crate::{
    Part, Result,
    outlier::{Outlier, Outliers},
    read::{
        part::{PartOf, Whole},
        settings::{DocumentSettings, stream_settings},
        stream::ReadStream,
    },
};

impl<T: Outlier> Outliers<T> {
    /// Parents that match a filter (typed conditions, or a [`Document`]), as a stream. It never
    /// reads the extras, so an outlier costs no more than any other parent.
    ///
    /// Conditions on items ([`any`](crate::Field::any), [`contains`](crate::Field::contains)) see
    /// the parent's own items and not its extras: an outlier that has a match among its extras
    /// alone is not found.
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
            parents: self.collections.parents.clone(),
            filter: filter.into_document(),
            range: Range::unordered(),
            read: DocumentSettings::default(),
            form: PhantomData,
        }
    }
}

/// Builder of a find over parents: await it; see [`Outliers::find`](crate::Outliers::find). The
/// output is a [`ReadStream`](crate::ReadStream) of [`Parent`]s.
#[must_use = "nothing is read until this is awaited"]
pub struct Find<'s, T, F = Whole<T>> {
    parents: Server,
    filter: Document,
    range: Range,
    read: DocumentSettings<'s>,
    form: PhantomData<fn() -> (T, F)>,
}

impl<'s, T: Outlier> Find<'s, T> {
    /// Has the server send only some fields of the parents: those of a struct that derives
    /// [`Part`]. Without the array, a parent costs the network the same however many items it has.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, Outliers, Part};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "books", reference = "book_id", threshold = 50)]
    /// # struct Book { _id: i64, title: String, year: i32, #[outlier(items)] buyers: Vec<String> }
    /// #[derive(Part)]
    /// #[part(of = Book)]
    /// struct Title {
    ///     title: String,
    /// }
    ///
    /// # async fn example(books: Outliers<Book>) -> bucket_runtime::Result<()> {
    /// let titles = books.find(Book::FIELDS.year.gte(2020)).parts::<Title>().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn parts<P: Part<Of = T>>(self) -> Find<'s, T, PartOf<P>> {
        Find {
            parents: self.parents,
            filter: self.filter,
            range: self.range,
            read: self.read,
            form: PhantomData,
        }
    }
}

impl<'s, T: Outlier, F> Find<'s, T, F> {
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

    /// Ends after this many parents; 0 gives none, without a round trip.
    pub fn limit(mut self, parents: u64) -> Self {
        self.range.limit = Some(i64::try_from(parents).unwrap_or(i64::MAX));
        self
    }

    stream_settings! {
        |find| find.read,
        /// Leaves out the items that cannot be read, and whole parents where something else in them
        /// cannot, and tells of each. Without it, the first one ends the stream with its error. The
        /// stream borrows what the closure does. They count for [`skip`](Self::skip) and
        /// [`limit`](Self::limit).
    }
}

impl<'s, T: Outlier, F: ParentForm<Of = T>> Find<'s, T, F> {
    pub(crate) async fn execute(mut self) -> Result<ReadStream<'s, Parent<F::Document>>> {
        self.read.apply_to(&mut self.parents);
        // For the server, 0 is no limit.
        if self.range.limit == Some(0) {
            return Ok(ReadStream::new(empty()));
        }
        let range = Range {
            projection: F::projection(),
            ..self.range
        };
        let found = self.parents.target().find(self.filter, range);
        let state = (found.cursor(self.read.session).await?, self.read.more.0);
        let parents = try_unfold(state, async |(mut rows, mut on_unreadable)| {
            loop {
                match next_parent::<F>(&mut rows, on_unreadable.as_mut()).await {
                    Ok(next) => return Ok(next.map(|parent| (parent, (rows, on_unreadable)))),
                    Err(error) => match &mut on_unreadable {
                        // The next one may be read.
                        Some(report) if error.is_deserialize() => report(error),
                        _ => return Err(error),
                    },
                }
            }
        });
        Ok(ReadStream::new(parents))
    }
}

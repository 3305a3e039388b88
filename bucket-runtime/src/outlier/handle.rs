//! The handle: what a program does with parents and their extras.

use std::{fmt, marker::PhantomData};

use mongodb::{
    Collection,
    bson::{Bson, Document},
};

use super::{
    command::ParentScope,
    core::Core,
    delete::{Delete, Remove},
    extra::Extra,
    filter::ParentFilter,
    insert::Insert,
    known::Known,
    push::{Push, PushMany},
    read::{CountValues, Find, Get, GetAll},
    split::SplitExisting,
    stream::{Extras, Values},
};
use crate::{
    Bucket,
    outlier::{IdRef, Outlier},
    schema::{
        key::{Key, KeyField},
        spec::{BucketSpec, OutlierSpec},
    },
    server::Server,
    write::engine::Engine,
};

/// The parents of one collection and their extras in another: insert, push, read.
///
/// Opened by [`Outlier::outliers`]. Cheap to clone, to be shared by tasks; clones share what they
/// have learned about which parents are outliers.
///
/// Every call is a builder that does nothing until it is awaited, and takes an optional session
/// before that. A call that takes several steps is safe to drop between any two of them: what is
/// stored then obeys O2 to O5. In a transaction of the session, all steps commit together.
pub struct Outliers<T> {
    core: Core,
    parent: PhantomData<fn() -> T>,
}

impl<T> Clone for Outliers<T> {
    fn clone(&self) -> Self {
        Self {
            core: self.core.clone(),
            parent: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Outliers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outliers")
            .field(&self.core.parents.name())
            .finish()
    }
}

impl<T: Outlier> Outliers<T> {
    /// The specs as `static`s, which promotion alone does not give in generic code.
    const SPEC: &'static OutlierSpec = &T::SPEC;
    const EXTRAS: &'static BucketSpec = &Extra::<T>::SPEC;

    pub(crate) fn new(parents: Server, extras: Engine) -> Self {
        Self {
            core: Core {
                parents,
                extras,
                known: Known::default(),
            },
            parent: PhantomData,
        }
    }

    /// Inserts a parent. If it has more items than the threshold, or more bytes than `max_bytes`, the first
    /// items go into the document and the others into extras.
    ///
    /// Round trips: one up to the threshold, and then the document is stored exactly as serde
    /// writes the struct. Beyond that up to five more for each extras document.
    ///
    /// # Errors
    ///
    /// [`is_duplicate`](crate::Error::is_duplicate) if the id is taken,
    /// [`is_too_large`](crate::Error::is_too_large) if no document could hold some item, and
    /// [`is_too_long`](crate::Error::is_too_long) beyond a `max_len`; nothing was stored. An error
    /// among the extras leaves the parent with the first of its items:
    /// [`stored`](crate::Error::stored) says how many, and the others can be pushed. A dropped future also
    /// leaves a first part of the items.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, Outliers};
    /// # async fn example<Book: Outlier>(books: Outliers<Book>, book: Book) -> bucket_runtime::Result<()> {
    /// books.insert(&book).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert(&self, parent: &T) -> Insert<'static> {
        Insert::new(&self.core, self.scope(parent.id()), parent)
    }

    /// Pushes one item: into the parent's array while it has room, then into its extras.
    ///
    /// Round trips: one to a parent with room, and one to a parent that this handle knows as an
    /// outlier; three when it learns that, and up to six for an item that opens an extras document.
    ///
    /// # Errors
    ///
    /// [`is_not_found`](crate::Error::is_not_found) if there is no such parent,
    /// [`is_too_large`](crate::Error::is_too_large) if no document could hold the item, and
    /// [`is_too_long`](crate::Error::is_too_long) beyond a `max_len`; nothing was stored.
    /// [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether the item may have been
    /// stored nevertheless.
    ///
    /// ```no_run
    /// # use bucket_runtime::{IdRef, Outlier, Outliers};
    /// # async fn example<Book: Outlier<Item = String>>(books: Outliers<Book>, id: IdRef<'_, Book>) -> bucket_runtime::Result<()> {
    /// books.push(id, "user50").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn push(&self, id: IdRef<'_, T>, item: impl Into<T::Item>) -> Push<'static> {
        Push::new::<T>(&self.core, self.scope(id), &item.into())
    }

    /// Pushes items in order, across the threshold: as many as fit into the parent, the others into extras.
    /// Each command carries as many as its document has room for.
    ///
    /// # Errors
    ///
    /// [`PushManyError`](crate::PushManyError) returns the items that were not stored; those before them
    /// are stored. Otherwise like [`push`](Self::push).
    pub fn push_many<I: Into<T::Item>>(
        &self,
        id: IdRef<'_, T>,
        items: impl IntoIterator<Item = I>,
    ) -> PushMany<'static, T> {
        let items = items.into_iter().map(Into::into).collect();
        PushMany::new(&self.core, self.scope(id), items)
    }

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
        Get::new(&self.core, self.scope(id))
    }

    /// The parent with all of its items joined, in memory. One round trip if it has no extras. To read many
    /// items, take [`items`](Self::items).
    pub fn get_all(&self, id: IdRef<'_, T>) -> GetAll<'static, T> {
        GetAll::new(&self.core, self.scope(id))
    }

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
        Values::new(&self.core, self.scope(id))
    }

    /// The extras as a stream, page by page. It does not read the parent.
    pub fn extras(&self, id: IdRef<'_, T>) -> Extras<'static, T> {
        Extras::new(&self.core, self.scope(id))
    }

    /// How many items there are, the parent's and the extras', counted by the server. One round
    /// trip, or two for an outlier; 0 if there is no such parent.
    pub fn count(&self, id: IdRef<'_, T>) -> CountValues<'static> {
        CountValues::new(&self.core, self.scope(id))
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
        Find::new(&self.core, filter.into_document())
    }

    /// Removes all items that equal this one from the parent and its extras; returns whether there were any.
    /// Two round trips, three with extras. Empty extras documents stay, with their numbers.
    ///
    /// The parent keeps its flag and its free room: further items still go to the extras, which keeps their
    /// order. A dropped future may leave some of several equal items; repeat the call.
    pub fn remove(&self, id: IdRef<'_, T>, item: impl Into<T::Item>) -> Remove<'static> {
        Remove::new(&self.core, self.scope(id), &item.into())
    }

    /// Deletes a parent, then its extras; returns whether there was one. Two round trips.
    ///
    /// A push by another program at the same time may leave an extras document without a parent, and so may
    /// a dropped future. No read finds it unless the id is inserted again. Repeating the call, or
    /// [`repair`](Outlier::repair), removes it.
    pub fn delete(&self, id: IdRef<'_, T>) -> Delete<'static> {
        Delete::new(&self.core, self.scope(id))
    }

    /// The driver's handle of the parents' collection, for everything else.
    pub fn collection(&self) -> &Collection<Document> {
        self.core.parents.collection()
    }

    /// The driver's handle of the extras' collection, for everything else.
    pub fn extras_collection(&self) -> &Collection<Document> {
        self.core.extras.server.collection()
    }

    /// Moves what exceeds the threshold or `max_bytes` to extras, for a collection whose documents have
    /// grown already. Programs that use this library go on writing.
    ///
    /// It splits each parent in a transaction of its own, so it needs a replica set or a sharded cluster,
    /// and every item is in one place whenever it stops. Call it again to go on. After a dropped future, a
    /// task finishes the current parent.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, Outliers};
    /// # async fn example<Book: Outlier>(books: Outliers<Book>) -> bucket_runtime::Result<()> {
    /// let split = books.split_existing().on_progress(|at| println!("{}/{}", at.done, at.found)).await?;
    /// println!("{} items moved", split.moved);
    /// # Ok(())
    /// # }
    /// ```
    pub fn split_existing(&self) -> SplitExisting<'static, T> {
        SplitExisting::new(self)
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// The parent with this stored id, if the id has the struct's type.
    pub(crate) fn scope_of(&self, id: Bson) -> Option<ParentScope> {
        T::Id::from_bson(id).map(|id| self.scope(id.borrowed()))
    }

    fn scope(&self, id: IdRef<'_, T>) -> ParentScope {
        let part = <(T::Id,)>::parts(id).remove(0);
        ParentScope::new(Self::SPEC, Self::EXTRAS, part)
    }
}

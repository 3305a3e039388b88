//! Watches parents: new items as any program pushes them, to a parent's own array or to its extras.
//!
//! One change stream of the database shows both collections in one order. An item is pushed once,
//! so what moves from a parent to its extras is not new: the event of the cut has no mark of a
//! push, and the extras documents that a split inserts have numbers below zero
//! (`read/watch/event.rs`).

use bucket_core::{
    error::Kind,
    schema::id,
    server::{
        target::{OwnedTarget, Target},
        watch::{Event, Watched},
    },
    value::shell::shell,
};
use mongodb::bson::{Bson, Document, doc};

use crate::{
    Result,
    outlier::{IdRef, Outlier, Outliers, extra::ExtraItem},
    read::watch::{
        Watch,
        event::{self, AppendMarks},
    },
};

/// A new item, and the parent that it was pushed to; see
/// [`Outliers::watch_all`](crate::Outliers::watch_all).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NewItem<K, I> {
    /// The parent's id.
    pub parent: K,
    /// The item.
    pub item: I,
}

impl<T: Outlier> Outliers<T> {
    /// Watches a parent: awaiting it gives a [`WatchStream`](crate::WatchStream) of the items that
    /// any program pushes from then on, wherever they go, in the order in which
    /// [`items`](Self::items) reads them.
    ///
    /// ```no_run
    /// # use bucket_runtime::{IdRef, Outlier, Outliers};
    /// # async fn example<Book: Outlier<Id = i64, Item = String>>(books: Outliers<Book>, stored: Option<String>) -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut watch = books.watch(&2);
    /// if let Some(token) = stored {
    ///     watch = watch.resume_after(&token.parse()?);
    /// }
    /// let mut new = watch.await?;
    /// while let Some(buyer) = new.try_next().await? {
    ///     println!("{buyer}, to go on from {}", new.token());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The items of a parent that is inserted meanwhile are new. Edits, removals and deletions give
    /// no items, nor does a move of items by `repair`. One change looks like a push: an edit of the
    /// own array of an outlier, or a removal from it, can give the items that are left in it.
    ///
    /// Extras documents that other programs wrote as the manual does give none, since their events
    /// do not name the parent. A command of your own that edits or removes items of a parent's
    /// array gives what is left in it, unless it changes the flag between missing and `false`. What
    /// such a command appends to an empty extras document of ours comes in no watch.
    ///
    /// Only the events of a database have one order, so it watches the database, and both
    /// collections have to be in it. The server sends this parent's events alone. It needs a
    /// replica set or a sharded cluster, and gives what a majority has.
    ///
    /// Two round trips, or one from a token; then one per batch of events or, without events, per
    /// second. Dropping the stream closes the server's cursor; nothing is left behind.
    ///
    /// # Errors
    ///
    /// The driver's, [`is_history_lost`](crate::Error::is_history_lost), and
    /// [`is_unsupported`](crate::Error::is_unsupported) if the collections are in two databases.
    #[doc(alias = "change stream")]
    pub fn watch(&self, id: IdRef<'_, T>) -> Watch<T::Item> {
        let parent = self.parent(id);
        let documents = (parent.scope.parent(), parent.scope.extras.ids());
        let targets = [parent.parent(), parent.extras()].map(Target::into_owned);
        self.watch_both(documents, targets, |new| new.item)
    }

    /// Watches all parents, those that are inserted later as well: awaiting it gives a
    /// [`WatchStream`](crate::WatchStream) of the items that any program pushes from then on, each
    /// with its parent's id, in the order in which the server stored them.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, Outliers};
    /// # async fn example<Book: Outlier<Id = i64, Item = String>>(books: Outliers<Book>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut new = books.watch_all().await?;
    /// while let Some(new_item) = new.try_next().await? {
    ///     println!("{} bought book {}", new_item.item, new_item.parent);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The server sends all events of the two collections. In all else it is like
    /// [`watch`](Self::watch).
    ///
    /// # Errors
    ///
    /// Those of [`watch`](Self::watch); and [`is_deserialize`](crate::Error::is_deserialize) if the
    /// struct cannot read the id of a parent, or read it from the `_id` of its extras: a type of
    /// your own needs [`from_id_text`](crate::KeyField::from_id_text).
    pub fn watch_all(&self) -> Watch<NewItem<T::Id, T::Item>> {
        let parents = self.collections.parents.target();
        let extras = self.collections.extras.server.target();
        let targets = [parents, extras].map(Target::into_owned);
        let all = (Document::new(), Document::new());
        self.watch_both(all, targets, |new| NewItem {
            parent: new.parent,
            item: new.item,
        })
    }

    /// Watches these documents of the two collections.
    fn watch_both<I: Send + 'static>(
        &self,
        (of_parents, of_extras): (Document, Document),
        [parents, extras]: [OwnedTarget; 2],
        give: fn(ExtraItem<T>) -> I,
    ) -> Watch<I> {
        let names = [self.collection(), self.extras_collection()].map(|each| each.namespace());
        let [own, other] = names;
        let watched = match own.db == other.db {
            true => Ok(Watched::database([
                (&own.coll, of_parents),
                (&other.coll, of_extras),
            ])),
            false => Err(parents.borrow().error(Kind::TwoDatabases)),
        };
        Watch::new(parents, watched, move |target, event| {
            let new = match event.collection() == Some(&other.coll) {
                true => pushed_to_extras::<T>(extras.borrow(), event)?,
                false => pushed_to_parent::<T>(target, event)?,
            };
            Ok(new.into_iter().map(give).collect())
        })
    }
}

/// The items that an event pushed to a parent's array, in the form of extras.
fn pushed_to_parent<T: Outlier>(target: Target<'_>, event: &Event) -> Result<Vec<ExtraItem<T>>> {
    let id = event.document_id();
    let (_, elements) = event::appended(AppendMarks::of_parents(&T::SPEC), event);
    if elements.is_empty() {
        return Ok(Vec::new());
    }
    let unreadable = Kind::UnreadableParent(shell(&id));
    let fields = doc! { T::SPEC.reference: &id, "_id": id };
    let bucket = event::bucket::<ExtraItem<T>>(target, fields, elements);
    let bucket = bucket.map_err(|error| error.known_as(unreadable))?;
    Ok(bucket.into_items())
}

/// The items that an event pushed to an extras document of ours. A split inserts those with numbers
/// below zero.
fn pushed_to_extras<T: Outlier>(target: Target<'_>, event: &Event) -> Result<Vec<ExtraItem<T>>> {
    let is_new = match event.document_id() {
        Bson::String(id) => {
            let number = id.rsplit_once('_').and_then(|(_, it)| id::parse_signed(it));
            number.is_some_and(|it| event.operation() != "insert" || it >= 0)
        }
        _ => false,
    };
    match is_new {
        true => event::appended_items(target, event),
        false => Ok(Vec::new()),
    }
}

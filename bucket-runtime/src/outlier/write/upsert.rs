//! Stores an item of a parent whether or not one with its identity is there.

use bucket_core::{
    error::Kind, protocol::range::Range, schema::names::WHOLE_ITEM, server::call::span,
};
use mongodb::{
    ClientSession,
    bson::{Bson, doc},
};

use crate::{
    Result,
    call::{InSession, Write},
    outlier::{
        IdRef, IdentifiedItems, Outlier, Outliers, extra::ExtraItem, parent_handle::ParentHandle,
    },
    read::reader::Reader,
    write::{
        appended::Appended,
        edit::upsert::{Upserted, replace_by_identity},
        engine::{TRIES, pause},
        item::Entry,
    },
};

impl<T: Outlier> Outliers<T> {
    /// Replaces the item of the parent that has the same identity (`#[outlier(items, unique = …)]`)
    /// with this one, in the parent or in its extras, or pushes it if there is none.
    ///
    /// ```
    /// # use bucket_runtime::{Fields, Outlier, Outliers, Upserted, bson::DateTime};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "users", reference = "user_id", threshold = 50)]
    /// # struct User {
    /// #     #[serde(rename = "_id")]
    /// #     id: i64,
    /// #     #[outlier(items, unique = user)]
    /// #     followers: Vec<Follower>,
    /// # }
    /// # #[derive(Serialize, Deserialize, Fields)]
    /// # struct Follower { user: i64, muted: bool }
    /// # async fn example(users: Outliers<User>) -> bucket_runtime::Result<()> {
    /// match users.upsert_item(&2, Follower { user: 7, muted: true }).await? {
    ///     Upserted::Replaced => println!("muted"),
    ///     Upserted::Appended => println!("a new follower"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The whole item is written, and keeps its place. Of calls at the same time one pushes the
    /// item, and the others replace it, in some order: it is never stored twice.
    ///
    /// Round trips: one if the parent's array holds the item, two if it is new to a typical parent;
    /// four if it is among the extras of a parent that this handle knows as an outlier, and
    /// otherwise up to five more than [`push`](Self::push) takes.
    ///
    /// A dropped future leaves the item stored, replaced or neither.
    ///
    /// # Errors
    ///
    /// [`is_too_large`](crate::Error::is_too_large) also if the document that holds the item has no
    /// room for what it grows by. [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether
    /// the item may have been stored anyway; the call can be repeated without a check. Others:
    /// those of [`push`](Self::push).
    pub fn upsert_item<'s>(&self, id: IdRef<'_, T>, item: impl Into<T::Item>) -> Write<'s, Upserted>
    where
        T: IdentifiedItems,
    {
        let parent = self.parent(id);
        let entry = parent.pushed_entry::<T>(&item.into());
        Write::new(span!(upsert_item), |InSession(session)| async move {
            parent.upsert::<T>(entry?, session).await
        })
    }
}

impl ParentHandle {
    async fn upsert<T: Outlier>(
        self,
        entry: Entry,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Upserted> {
        let field = self.scope.spec.unique.unwrap_or(WHOLE_ITEM);
        let element = &entry.element;
        let mut was_there = false;
        for tries in 0..TRIES {
            pause(tries).await;
            // An item that is its own identity cannot differ from the one that is there.
            if field != WHOLE_ITEM {
                let in_extras = was_there || self.is_known();
                let replaced = self.replace::<T>(field, element, in_extras, session.as_deref_mut());
                if replaced.await? {
                    return Ok(Upserted::Replaced);
                }
            }
            if was_there {
                let grown = self.check_growth(field, &entry, session.as_deref_mut());
                grown.await?;
            }
            let mut batch = self.batch([entry.clone()]);
            self.push(&mut batch, session.as_deref_mut()).await?;
            match batch.only_result() {
                Appended::Stored => return Ok(Upserted::Appended),
                Appended::AlreadyThere if field == WHOLE_ITEM => return Ok(Upserted::Replaced),
                Appended::AlreadyThere => was_there = true,
            }
        }
        Err(self.error(Kind::Contended(TRIES)))
    }

    /// Replaces the item with this identity, if there is one: in the parent's array or, if asked
    /// to, in the extras.
    async fn replace<T: Outlier>(
        &self,
        field: &'static str,
        element: &Bson,
        in_extras: bool,
        mut session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let (filter, pipeline) = self.scope.replace(field, element.clone());
        let (target, of_own) = (self.parent(), session.as_deref_mut());
        let replaced = target.change_read(filter, Some(pipeline), None, of_own);
        if replaced.await? {
            return Ok(true);
        }
        if !in_extras || !self.is_flagged(session.as_deref_mut()).await? {
            return Ok(false);
        }
        let reader = Reader {
            server: self.collections.extras.server.clone(),
            scope: self.scope.extras.clone(),
        };
        replace_by_identity::<ExtraItem<T>>(reader, field, element, session).await
    }

    /// An error if the parent's array holds the item, and the parent has no room for what it grows
    /// by.
    async fn check_growth(
        &self,
        field: &'static str,
        Entry { element, size, .. }: &Entry,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        if self.scope.spec.is_bounded {
            return Ok(());
        }
        let fits = doc! { "_id": 0, "fits": self.scope.fits_in_place(field, element) };
        let held = self.scope.with_identity(field, element);
        let found = self.parent().find(held, Range::unordered().project(fits));
        match found.read_primary().first(session).await? {
            Some(found) if found.get_bool("fits").is_ok_and(|fits| !fits) => {
                Err(self.error(Kind::NoRoom(*size)))
            }
            _ => Ok(()),
        }
    }
}

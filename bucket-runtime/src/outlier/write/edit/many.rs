//! Edits and removals of all items of a parent that match.

use bucket_core::protocol::filter::Filter;

use super::protocol::ParentEditor;
use crate::{
    call::Call,
    outlier::{IdRef, Outlier, Outliers, extra::ExtraItem, parent_handle::ParentHandle},
    write::edit::{Edit, Sweep, many::WriteMany},
};

impl<T: Outlier> Outliers<T> {
    /// Changes all items of a parent that match: reads those of a document, calls the closure for
    /// each, writes them back by one update, and goes on with the next document. Returns how many
    /// items differ from before.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Fields, Outlier, Outliers};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "users", reference = "user_id", threshold = 50)]
    /// # struct User { _id: i64, #[outlier(items)] followers: Vec<Follower> }
    /// # #[derive(Serialize, Deserialize, Fields)]
    /// # struct Follower { user: String, muted: bool }
    /// # async fn example(users: Outliers<User>) -> bucket_runtime::Result<()> {
    /// let loud = User::FIELDS.followers.item().muted.eq(false);
    /// let muted = users.update_items(&7, loud, |follower| follower.muted = true).await?;
    /// println!("{muted} followers are muted now");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For each document all of [`update_item`](Self::update_item) holds: items are written back as
    /// a whole and keep their places, and if another writer changes one of them in between, those
    /// of this document are read again, and the closure runs again for each. Items that are pushed
    /// meanwhile are changed or not.
    ///
    /// Round trips: two if there are no extras; else one more, and two for each extras document
    /// that may hold a match. After an error, a panic of the closure, or a dropped future, the
    /// items of some documents are changed, and those of each other document are not. Call it again
    /// to go on; let the condition exclude items that are changed already, or the closure gets them
    /// again.
    ///
    /// # Errors
    ///
    /// An [`EditManyError`](crate::EditManyError) says how far the call came. It holds one of the
    /// errors of [`update_item`](Self::update_item), at the first document that has one; items of
    /// one document that are more than a command can carry are
    /// [`is_too_large`](crate::Error::is_too_large). An item that cannot be read does not end the
    /// call: its document stays as it is, the others are done, and then the first
    /// [`is_deserialize`](crate::Error::is_deserialize) is returned.
    pub fn update_items<'s>(
        &self,
        id: IdRef<'_, T>,
        filter: Filter<T::Item>,
        mut change: impl FnMut(&mut T::Item) + Send + 's,
    ) -> WriteMany<'s> {
        let change = move |extra: &mut ExtraItem<T>| change(&mut extra.item);
        (self.parent(id)).edit_all::<T>(filter, Edit::Update(Box::new(change)))
    }

    /// Removes all items of a parent that match, and returns how many. Items that cannot be read
    /// are removed, too.
    ///
    /// With `Book::FIELDS.buyers.item().eq("ann")` it removes all items that equal the value.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Fields, Outlier, Outliers};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "users", reference = "user_id", threshold = 50)]
    /// # struct User { _id: i64, #[outlier(items)] followers: Vec<Follower> }
    /// # #[derive(Serialize, Deserialize, Fields)]
    /// # struct Follower { user: String, since: i64 }
    /// # async fn example(users: Outliers<User>, limit: i64) -> bucket_runtime::Result<()> {
    /// let old = User::FIELDS.followers.item().since.lt(limit);
    /// println!("{} followers are gone", users.remove_items(&7, old).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For each document all of [`remove_item`](Self::remove_item) holds.
    ///
    /// Round trips: two if there are no extras; else one more, and two for each extras document
    /// that may hold a match, with a [total](macro@crate::Outlier#total) four. After an error or a
    /// dropped future, some documents are done, and the total is right: call it again to go on.
    ///
    /// # Errors
    ///
    /// An [`EditManyError`](crate::EditManyError) says how far the call came. It holds one of the
    /// errors of [`remove_item`](Self::remove_item), at the first document that has one.
    pub fn remove_items<'s>(&self, id: IdRef<'_, T>, filter: Filter<T::Item>) -> WriteMany<'s> {
        self.parent(id).edit_all::<T>(filter, Edit::RemoveStored)
    }
}

impl ParentHandle {
    fn edit_all<T: Outlier>(
        self,
        filter: Filter<T::Item>,
        mut edit: Edit<'_, ExtraItem<T>>,
    ) -> WriteMany<'_> {
        Call::new(edit.span_of_many(), move |settings| async move {
            let engine = self.collections.extras.clone();
            let key = self.scope.extras.key.clone();
            let mut sweep = Sweep::new(engine, Some(key), Filter::of(filter.node), settings);
            let (parent, query) = (self, sweep.query.clone());
            let editor = ParentEditor { parent, query };
            let done = editor.change_all(&mut edit, &mut sweep).await;
            sweep.finish(done)
        })
    }
}

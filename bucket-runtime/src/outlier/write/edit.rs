//! Edits and removals of single items of a parent; `many` has those of several.

pub(super) mod many;
mod protocol;

use bucket_core::{
    protocol::{filter::Filter, query::Query},
    server::call::{Span, span},
};

use self::protocol::ParentEditor;
use crate::{
    call::{InSession, Write},
    outlier::{IdRef, Outlier, Outliers, extra::ExtraItem},
    write::edit::Edit,
};

impl<T: Outlier> Outliers<T> {
    /// Removes the first item of a parent that matches, in the order of [`items`](Self::items), and
    /// returns it; `None` if none matches, or if there is no such parent.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Fields, Outlier, Outliers};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "users", reference = "user_id", threshold = 50)]
    /// # struct User { _id: i64, #[outlier(items)] followers: Vec<Follower> }
    /// # #[derive(Serialize, Deserialize, Fields)]
    /// # struct Follower { user: String, since: i64 }
    /// # async fn example(users: Outliers<User>) -> bucket_runtime::Result<()> {
    /// let ann = User::FIELDS.followers.item().user.eq("ann");
    /// if let Some(ann) = users.remove_item(&7, ann).await? {
    ///     println!("ann followed since {}", ann.since);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The parent keeps its flag and its free room: further items still go to the extras, which
    /// keeps their order. An extras document that becomes empty is deleted if it is the one that
    /// takes further items; the others stay, with their numbers. A
    /// [total](macro@crate::Outlier#total) stays right: the update that removes an item of the
    /// parent's array also counts, and a removal from the extras is a transaction.
    ///
    /// Round trips: two if the parent holds the item, one if no item matches and there are no
    /// extras; three if it is among the extras, with a total five; one more where items are
    /// `unique`, until the handle knows the parent as an outlier. If another writer changes the
    /// item in between, the two of its document are repeated.
    ///
    /// A dropped future leaves the item removed or not removed, and the total right.
    ///
    /// # Errors
    ///
    /// [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether the item may have been
    /// removed anyway. [`is_deserialize`](crate::Error::is_deserialize) if the item cannot be read;
    /// it then stays ([`remove_items`](Self::remove_items) removes it). Others:
    /// [`is_contended`](crate::Error::is_contended).
    pub fn remove_item<'s>(
        &self,
        id: IdRef<'_, T>,
        filter: Filter<T::Item>,
    ) -> Write<'s, Option<T::Item>> {
        let editor = self.first_match(id, filter);
        editor.edit::<T>(span!(remove_item), Edit::Remove)
    }

    /// Reads the first item of a parent that matches, in the order of [`items`](Self::items), calls
    /// the closure to change it, and writes it back. Returns the item as it is now stored, or
    /// `None` if none matches, or if there is no such parent.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Fields, Outlier, Outliers};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "users", reference = "user_id", threshold = 50)]
    /// # struct User { _id: i64, #[outlier(items)] followers: Vec<Follower> }
    /// # #[derive(Serialize, Deserialize, Fields)]
    /// # struct Follower { user: String, visits: i64 }
    /// # async fn example(users: Outliers<User>) -> bucket_runtime::Result<()> {
    /// let ann = User::FIELDS.followers.item().user.eq("ann");
    /// let ann = users.update_item(&7, ann, |follower| follower.visits += 1).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The whole item is written back: stored fields that its type does not have are dropped. It
    /// keeps its place, in the parent or among the extras.
    ///
    /// If another writer changes the item in between, it is read and changed again, so no other
    /// change is lost; the closure is then called again.
    ///
    /// Round trips: two if the parent holds the item, three if it is among the extras, and two more
    /// for each such repetition; one less if the closure changes nothing. A dropped future leaves
    /// the item either unchanged or changed.
    ///
    /// # Errors
    ///
    /// [`is_too_large`](crate::Error::is_too_large) if the item grows and its document has no room
    /// for it, and [`is_too_long`](crate::Error::is_too_long) beyond a `max_len`.
    /// [`is_item_moved`](crate::Error::is_item_moved) if the closure changes the item's identity
    /// (`#[outlier(items, unique = …)]`). [`is_maybe_stored`](crate::Error::is_maybe_stored) says
    /// whether the change may have been stored anyway. Others:
    /// [`is_deserialize`](crate::Error::is_deserialize),
    /// [`is_serialize`](crate::Error::is_serialize), [`is_contended`](crate::Error::is_contended).
    pub fn update_item<'s>(
        &self,
        id: IdRef<'_, T>,
        filter: Filter<T::Item>,
        mut change: impl FnMut(&mut T::Item) + Send + 's,
    ) -> Write<'s, Option<T::Item>> {
        let change = move |extra: &mut ExtraItem<T>| change(&mut extra.item);
        let editor = self.first_match(id, filter);
        editor.edit(span!(update_item), Edit::Update(Box::new(change)))
    }

    /// An edit of the parent's first item that matches.
    fn first_match(&self, id: IdRef<'_, T>, filter: Filter<T::Item>) -> ParentEditor {
        ParentEditor {
            parent: self.parent(id),
            query: Query {
                limit: Some(1),
                ..Query::of(filter)
            },
        }
    }
}

impl ParentEditor {
    fn edit<T: Outlier>(
        self,
        span: fn() -> Span,
        mut edit: Edit<'_, ExtraItem<T>>,
    ) -> Write<'_, Option<T::Item>> {
        Write::new(span, move |InSession(session)| async move {
            self.change_first(&mut edit, session).await
        })
    }
}

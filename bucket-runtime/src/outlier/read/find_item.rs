//! Finds an item of a parent.

use bucket_core::protocol::filter::Filter;
use mongodb::bson::Bson;

use super::items::ParentItems;
use crate::{
    Result,
    outlier::{IdRef, Outlier, Outliers},
    read::settings::{read_settings, session_setting},
};

impl<T: Outlier> Outliers<T> {
    /// The first item of a parent that matches, and where it is: in the parent or in its extras.
    /// `None` if no item matches, or if there is no such parent.
    ///
    /// One round trip if the parent holds it or has no extras, else two. The server sends no other
    /// item; [`ParentItems::filter`](crate::action::ParentItems::filter) says which extras it
    /// visits.
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
    /// match users.find_item(&7, ann).await? {
    ///     Some(found) => println!("ann follows since {}", found.item.since),
    ///     None => println!("ann does not follow"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn find_item(&self, id: IdRef<'_, T>, filter: Filter<T::Item>) -> FindItem<'static, T> {
        FindItem(self.items(id).filter(filter).limit(1))
    }
}

/// An item of a parent, and where it is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FoundItem<I> {
    /// The item.
    pub item: I,
    /// The `_id` of the extras document that holds it; `None` if the parent does.
    pub extras_id: Option<Bson>,
    /// The number of items before it in that document.
    pub index: u32,
}

/// Builder of a search for an item: await it; see
/// [`Outliers::find_item`](crate::Outliers::find_item).
#[must_use = "an item is searched when this is awaited"]
pub struct FindItem<'s, T>(ParentItems<'s, T>);

impl<'s, T: Outlier> FindItem<'s, T> {
    read_settings!(
        |call| call.0.0.parent.collections.parents,
        call.0.0.parent.collections.extras.server
    );

    session_setting! {
        /// Reads in this session.
        |call| call.0.0.session
    }

    pub(crate) async fn execute(self) -> Result<Option<FoundItem<T::Item>>> {
        let mut rows = self.0.rows(None).await?;
        let Some(row) = rows.next().await? else {
            return Ok(None);
        };
        let Some(item) = rows.read(&row)? else {
            return Ok(None);
        };
        let id = row.get("_id").ok().flatten();
        let id = id.filter(|_| !rows.section.is_own());
        Ok(Some(FoundItem {
            item,
            extras_id: id.and_then(|id| Bson::try_from(id).ok()),
            index: rows.number_of(&row),
        }))
    }
}

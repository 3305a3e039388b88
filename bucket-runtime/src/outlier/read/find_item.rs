//! Finds an item of a parent.

use bucket_core::{
    protocol::{filter::Filter, query::Query},
    server::call::span,
    value::shell::id_of,
};
use mongodb::bson::Bson;

use super::rows::ParentRows;
use crate::{
    outlier::{IdRef, Outlier, Outliers},
    read::settings::Read,
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
    pub fn find_item<'s>(
        &self,
        id: IdRef<'_, T>,
        filter: Filter<T::Item>,
    ) -> Read<'s, Option<FoundItem<T::Item>>> {
        let parent = self.parent(id);
        let query = Query {
            limit: Some(1),
            ..Query::of(filter)
        };
        Read::new(span!(find_item), move |settings| async move {
            let parent = parent.read_with(&settings);
            let mut rows = ParentRows::start(parent, query, settings.session, None, None).await?;
            let Some(row) = rows.next().await? else {
                return Ok(None);
            };
            let item = rows.read(&row)?;
            Ok(item.map(|item| FoundItem {
                item,
                extras_id: (!rows.section.is_own()).then(|| id_of(&row)),
                index: rows.number_of(&row),
            }))
        })
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

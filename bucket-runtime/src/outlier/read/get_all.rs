//! Parents with all of their items.

use futures_util::TryStreamExt;

use super::{
    extras::get_with_extras,
    parent_read::{ParentRead, parent_read_settings},
};
use crate::{
    Result,
    outlier::{IdRef, Outlier, Outliers},
};

impl<T: Outlier> Outliers<T> {
    /// The parent with all of its items joined, in memory. One round trip if it has no extras. To
    /// read many items, take [`items`](Self::items).
    pub fn get_all(&self, id: IdRef<'_, T>) -> GetAll<'static, T> {
        GetAll(ParentRead::new(self.parent(id)))
    }
}

/// Builder of a read of one parent with all of its items: await it; see
/// [`Outliers::get_all`](crate::Outliers::get_all).
#[must_use = "a parent is read when this is awaited"]
pub struct GetAll<'s, T>(ParentRead<'s, T>);

impl<'s, T: Outlier> GetAll<'s, T> {
    parent_read_settings! {
        /// Leaves out the items that cannot be read, and tells of each, as
        /// [`ParentItems::skip_unreadable`](crate::action::ParentItems::skip_unreadable) does.
    }

    pub(crate) async fn execute(self) -> Result<Option<T>> {
        let Some((mut document, mut extras)) = get_with_extras(self.0, false).await? else {
            return Ok(None);
        };
        while let Some(bucket) = extras.try_next().await? {
            document.items_mut().extend(bucket.items);
        }
        Ok(Some(document))
    }
}

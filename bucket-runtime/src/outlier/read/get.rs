//! Single parents, as they are stored.

use super::{
    parent::Parent,
    parent_read::{ParentRead, parent_read_settings},
};
use crate::{
    Result,
    outlier::{IdRef, Outlier, Outliers},
};

impl<T: Outlier> Outliers<T> {
    /// The parent as it is stored, with up to `threshold` items, and whether there are more. One
    /// round trip, whatever the number of extras.
    ///
    /// An outlier that has lost some of its own items holds fewer than the threshold, although
    /// there are extras: [`items(id).limit(n)`](Self::items) gives the first `n` items in any case.
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
        Get(ParentRead::new(self.parent(id)))
    }
}

/// Builder of a read of one parent: await it; see [`Outliers::get`](crate::Outliers::get).
#[must_use = "a parent is read when this is awaited"]
pub struct Get<'s, T>(ParentRead<'s, T>);

impl<'s, T: Outlier> Get<'s, T> {
    parent_read_settings! {
        /// Leaves out the items of the parent that cannot be read, and tells of each, as
        /// [`ParentItems::skip_unreadable`](crate::action::ParentItems::skip_unreadable) does.
    }

    pub(crate) async fn execute(mut self) -> Result<Option<Parent<T>>> {
        self.0.get().await
    }
}

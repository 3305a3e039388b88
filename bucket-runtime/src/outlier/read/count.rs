//! Counts the items of a parent.

use bucket_core::protocol::filter::Filter;

use super::items::ParentItems;
use crate::{
    Result,
    outlier::{
        IdRef, Outlier, Outliers,
        parent_handle::{ParentState, number},
    },
    read::settings::{read_settings, session_setting},
};

impl<T: Outlier> Outliers<T> {
    /// How many items there are, the parent's and the extras', counted by the server. One round
    /// trip, or two for an outlier; 0 if there is no such parent.
    /// [`CountParentItems::filter`](crate::action::CountParentItems::filter) counts only those that
    /// match a condition.
    pub fn count(&self, id: IdRef<'_, T>) -> CountParentItems<'static, T> {
        CountParentItems(self.items(id))
    }
}

/// Builder of a count of items: await it; see [`Outliers::count`](crate::Outliers::count).
#[must_use = "nothing is counted until this is awaited"]
pub struct CountParentItems<'s, T>(ParentItems<'s, T>);

impl<'s, T: Outlier> CountParentItems<'s, T> {
    /// Counts only the items that match; called again, those that match both conditions. The server
    /// visits what a [read of items](crate::action::ParentItems::filter) with this filter would
    /// visit, and sends a number.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, Outliers};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "sales", reference = "book_id", threshold = 50)]
    /// # struct Book { _id: i64, #[outlier(items)] buyers: Vec<String> }
    /// # async fn example(books: Outliers<Book>) -> bucket_runtime::Result<()> {
    /// let copies = books.count(&2).filter(Book::FIELDS.buyers.item().eq("user01")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(self, filter: Filter<T::Item>) -> Self {
        Self(self.0.filter(filter))
    }

    read_settings!(
        |reads| reads.0.0.parent.collections.parents,
        reads.0.0.parent.collections.extras.server
    );

    session_setting! {
        /// Counts in this session.
        |call| call.0.0.session
    }

    pub(crate) async fn execute(self) -> Result<u64> {
        let ParentItems(read, query) = self.0;
        let (parent, mut session) = (read.parent, read.session);
        let (scope, of_own) = (&parent.scope, session.as_deref_mut());
        let (own, is_flagged, extras) = if query.filter.is_everything() {
            let state = parent.read_state(&[], false, of_own).await?;
            let ParentState {
                length, flagged, ..
            } = state.unwrap_or_default();
            (length as u64, flagged, scope.count_extras().to_vec())
        } else {
            let count = parent.parent().pipeline(scope.count_own_matches(&query));
            let count = count.first(of_own).await?.unwrap_or_default();
            let is_flagged = count.get_bool("flag").unwrap_or(false);
            let extras = query.count(scope.extras.spec, Some(&scope.extras));
            (number(&count, "items"), is_flagged, extras)
        };
        match is_flagged {
            true => Ok(own + parent.extras().pipeline(extras).sum(session).await?),
            false => Ok(own),
        }
    }
}

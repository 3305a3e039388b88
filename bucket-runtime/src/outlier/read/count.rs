//! Counts the items of a parent.

use std::marker::PhantomData;

use bucket_core::protocol::{filter::Filter, query::Query};
use mongodb::{ClientSession, bson::Document};

use crate::{
    Result,
    outlier::{
        IdRef, Outlier, Outliers,
        parent_handle::{ParentHandle, number},
    },
    read::settings::{read_settings, session_setting},
};

impl<T: Outlier> Outliers<T> {
    /// How many items there are, the parent's and the extras', counted by the server. One round
    /// trip, or two for an outlier; 0 if there is no such parent.
    /// [`CountParentItems::filter`](crate::action::CountParentItems::filter) counts only those that
    /// match a condition.
    pub fn count(&self, id: IdRef<'_, T>) -> CountParentItems<'static, T> {
        CountParentItems {
            parent: self.parent(id),
            query: Query::everything(),
            session: None,
            of: PhantomData,
        }
    }
}

/// Builder of a count of items: await it; see [`Outliers::count`](crate::Outliers::count).
#[must_use = "nothing is counted until this is awaited"]
pub struct CountParentItems<'s, T> {
    parent: ParentHandle,
    query: Query,
    session: Option<&'s mut ClientSession>,
    of: PhantomData<fn() -> T>,
}

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
    pub fn filter(mut self, filter: Filter<T::Item>) -> Self {
        self.query.filter = self.query.filter.and(filter.node);
        self
    }

    read_settings!(
        |reads| reads.parent.collections.parents,
        reads.parent.collections.extras.server
    );

    session_setting! {
        /// Counts in this session.
    }

    pub(crate) async fn execute(self) -> Result<u64> {
        let Self {
            parent,
            query,
            mut session,
            ..
        } = self;
        let (own, is_flagged) = count_own(&parent, &query, session.as_deref_mut()).await?;
        if !is_flagged {
            return Ok(own);
        }
        let scope = &parent.scope;
        let extras = match query.filter.is_everything() {
            true => scope.count_extras().to_vec(),
            false => query.count(scope.extras.spec, Some(&scope.extras)),
        };
        Ok(own + parent.extras().pipeline(extras).sum(session).await?)
    }
}

/// Counts the matching items of the parent itself, and tells whether it is flagged.
async fn count_own(
    parent: &ParentHandle,
    query: &Query,
    mut session: Option<&mut ClientSession>,
) -> Result<(u64, bool)> {
    if query.filter.is_everything() {
        let state = parent
            .read_state(&[], false, session.as_deref_mut())
            .await?;
        return Ok(state.map_or((0, false), |state| (state.length as u64, state.flagged)));
    }
    let count = parent
        .parent()
        .pipeline(parent.scope.count_own_matches(query));
    let count: Document = count.first(session).await?.unwrap_or_default();
    let is_flagged = count.get_bool("flag").unwrap_or(false);
    Ok((number(&count, "items"), is_flagged))
}

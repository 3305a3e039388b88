//! Counts the items of a parent.

use bucket_core::{protocol::query::Query, server::call::span};
use mongodb::ClientSession;

use crate::{
    Result,
    outlier::{
        IdRef, Outlier, Outliers,
        parent_handle::{ParentHandle, ParentState, number},
    },
    read::settings::CountItems,
};

impl<T: Outlier> Outliers<T> {
    /// How many items there are, the parent's and the extras', counted by the server. One round
    /// trip, or two for an outlier; 0 if there is no such parent.
    /// [`filter`](crate::action::CountItems::filter) counts only those that match a condition.
    pub fn count<'s>(&self, id: IdRef<'_, T>) -> CountItems<'s, T::Item> {
        let parent = self.parent(id);
        CountItems::new(span!(count), move |settings| async move {
            let parent = parent.read_with(&settings);
            count(&parent, &Query::of(settings.more), settings.session).await
        })
    }
}

async fn count(
    parent: &ParentHandle,
    query: &Query,
    mut session: Option<&mut ClientSession>,
) -> Result<u64> {
    let (scope, of_own) = (&parent.scope, session.as_deref_mut());
    let (own, is_flagged, extras) = if query.filter.is_everything() {
        let state = parent.read_state(&[], false, of_own).await?;
        let ParentState {
            length, flagged, ..
        } = state.unwrap_or_default();
        (length as u64, flagged, scope.count_extras().to_vec())
    } else {
        let count = parent.parent().pipeline(scope.count_own_matches(query));
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

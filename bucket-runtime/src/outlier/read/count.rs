//! Counts the items of a parent.

use mongodb::ClientSession;

use crate::{
    Result,
    outlier::{IdRef, Outlier, Outliers, parent_handle::ParentHandle},
    read::settings::{read_settings, session_setting},
};

impl<T: Outlier> Outliers<T> {
    /// How many items there are, the parent's and the extras', counted by the server. One round
    /// trip, or two for an outlier; 0 if there is no such parent.
    pub fn count(&self, id: IdRef<'_, T>) -> CountParentItems<'static> {
        CountParentItems {
            parent: self.parent(id),
            session: None,
        }
    }
}

/// Builder of a count of items: await it; see [`Outliers::count`](crate::Outliers::count).
#[must_use = "nothing is counted until this is awaited"]
pub struct CountParentItems<'s> {
    parent: ParentHandle,
    session: Option<&'s mut ClientSession>,
}

impl<'s> CountParentItems<'s> {
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
            mut session,
        } = self;
        parent.note_call();
        let Some(state) = parent.read_state(false, session.as_deref_mut()).await? else {
            return Ok(0);
        };
        let own = state.length as u64;
        if !state.flagged {
            return Ok(own);
        }
        let extras = parent.count_extras(parent.scope.count_extras(), session);
        Ok(own + extras.await?)
    }
}

//! Deletes parents with their extras.

use mongodb::ClientSession;

use crate::{
    Result,
    outlier::{IdRef, Outlier, Outliers, parent_handle::ParentHandle},
    read::settings::session_setting,
};

impl<T: Outlier> Outliers<T> {
    /// Deletes a parent, then its extras; returns whether there was one. Two round trips.
    ///
    /// A push by another program at the same time may leave an extras document without a parent, and so may
    /// a dropped future. No read finds it, and no push that begins afterwards goes to it, unless the id is inserted
    /// again. Repeating the call, or
    /// [`repair`](Outlier::repair) with `delete_orphans(true)`, removes it.
    pub fn delete(&self, id: IdRef<'_, T>) -> Delete<'static> {
        Delete {
            parent: self.parent(id),
            session: None,
        }
    }
}

/// Builder of a deletion: await it; see [`Outliers::delete`](crate::Outliers::delete).
#[must_use = "nothing is deleted until this is awaited"]
pub struct Delete<'s> {
    parent: ParentHandle,
    session: Option<&'s mut ClientSession>,
}

impl<'s> Delete<'s> {
    session_setting! {
        /// Deletes in this session; in a transaction, both steps are part of it.
    }

    /// The parent goes first: without it no writer opens another extras document.
    pub(crate) async fn execute(self) -> Result<bool> {
        let Self {
            parent,
            mut session,
        } = self;
        parent.note_call();
        parent.forget();
        let deleted = (parent.parent()).delete_one(parent.scope.parent(), session.as_deref_mut());
        let existed = deleted.await?;
        let extras = (parent.extras()).delete_many(parent.scope.extras.all(), session);
        extras.await.map_err(|error| match existed {
            true => error.in_doubt(),
            false => error,
        })?;
        Ok(existed)
    }
}

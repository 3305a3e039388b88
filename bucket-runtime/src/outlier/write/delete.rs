//! Deletes parents with their extras.

use bucket_core::server::call::span;
use mongodb::ClientSession;

use crate::{
    Result,
    call::{InSession, Write},
    outlier::{IdRef, Outlier, Outliers, parent_handle::ParentHandle},
};

impl<T: Outlier> Outliers<T> {
    /// Deletes a parent, then its extras; returns whether there was one. Two round trips.
    ///
    /// A push by another program at the same time may leave an extras document without a parent,
    /// and so may a dropped future. No read finds it, and no push that begins afterwards goes to
    /// it, unless the id is inserted again. Repeating the call, or
    /// [`repair`](https://docs.rs/bucket-ops/latest/bucket_ops/struct.OutlierOps.html#method.repair)
    /// with `delete_orphans(true)`, removes it.
    pub fn delete<'s>(&self, id: IdRef<'_, T>) -> Write<'s, bool> {
        let parent = self.parent(id);
        Write::new(span!(delete), |InSession(session)| parent.delete(session))
    }
}

impl ParentHandle {
    /// The parent goes first: without it no writer opens another extras document.
    async fn delete(self, mut session: Option<&mut ClientSession>) -> Result<bool> {
        self.forget();
        let deleted = (self.parent()).delete_one(self.scope.parent(), session.as_deref_mut());
        let existed = deleted.await?;
        let extras = (self.extras()).delete_many(self.scope.extras.all(), session);
        extras.await.map_err(|error| match existed {
            true => error.in_doubt(),
            false => error,
        })?;
        Ok(existed)
    }
}

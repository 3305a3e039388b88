//! Removes items from a parent and its extras.

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Bson, Document, doc},
};

use crate::{
    Error, Result,
    outlier::{IdRef, Outlier, Outliers, parent_handle::ParentHandle},
    read::settings::session_setting,
    server::transaction::{self, Attempt},
};

impl<T: Outlier> Outliers<T> {
    /// Removes all items that equal this one from the parent and its extras; returns whether there were any.
    /// One round trip if the parent's own array holds it and there are no extras, else three; with a
    /// [total](macro@crate::Outlier#total) a transaction of two or three more. An extras document that becomes empty
    /// is deleted if it is the one that takes further items; the others stay, with their numbers.
    ///
    /// The parent keeps its flag and its free room: further items still go to the extras, which keeps their
    /// order. A dropped future may leave some of several equal items; repeat the call.
    pub fn remove(&self, id: IdRef<'_, T>, item: impl Into<T::Item>) -> Remove<'static> {
        let parent = self.parent(id);
        Remove {
            value: parent.element(&item.into()),
            parent,
            session: None,
        }
    }
}

/// Builder of a removal: await it; see [`Outliers::remove`](crate::Outliers::remove).
#[must_use = "nothing is removed until this is awaited"]
pub struct Remove<'s> {
    parent: ParentHandle,
    value: Result<Bson>,
    session: Option<&'s mut ClientSession>,
}

impl<'s> Remove<'s> {
    session_setting! {
        /// Removes in this session; in a transaction, all steps are part of it.
    }

    pub(crate) async fn execute(self) -> Result<bool> {
        let Self {
            parent,
            value,
            session,
        } = self;
        parent.note_call();
        let value = value?;
        match parent.scope.spec.total {
            None => parent.pull(&value, session).await,
            Some(total) => {
                let server = parent.collections.parents.clone();
                let remove = RemoveCounted {
                    parent,
                    total,
                    value,
                };
                transaction::run_in(&server, remove, session).await
            }
        }
    }
}

impl ParentHandle {
    /// Removes from the parent, then from every extras document: a value never moves between them.
    ///
    /// An extras document that becomes empty stays, unless it is the open one. If it were deleted, a writer that has
    /// read the last number and was then overtaken could use the number of a deleted one again, and its values would
    /// come before those of higher numbers. After the open one there is none.
    async fn pull(&self, value: &Bson, mut session: Option<&mut ClientSession>) -> Result<bool> {
        let (filter, pipeline) = self.scope.pull(value);
        let flag = doc! { "_id": 0, self.scope.spec.flag: 1 };
        let parent = self.parent();
        let pulled = parent.change(filter, Some(pipeline), None, flag, session.as_deref_mut());
        let pulled = pulled.await?;
        let is_flagged = |parent: &Document| parent.get_bool(self.scope.spec.flag).unwrap_or(false);
        if pulled.as_ref().is_some_and(|parent| !is_flagged(parent)) {
            return Ok(true);
        }
        // With a total it is a transaction, of which nothing is left.
        let may_stay = self.scope.spec.total.is_none();
        let doubt = |is_changed: bool| {
            move |error: Error| match is_changed && may_stay {
                true => error.in_doubt(),
                false => error,
            }
        };
        let (extras, open) = (self.extras(), self.scope.holds_only(value));
        let deleted = extras.delete_many(open, session.as_deref_mut()).await;
        let is_found = deleted.map_err(doubt(pulled.is_some()))? > 0 || pulled.is_some();
        let (filter, pipeline) = self.scope.pull_extras(value);
        let pulled = extras.update_many(filter, pipeline, session).await;
        Ok(pulled.map_err(doubt(is_found))? > 0 || is_found)
    }
}

/// Removes from the parent and its extras, and counts what was removed: the parent's own items in the update
/// that removes them, the extras in this transaction.
struct RemoveCounted {
    parent: ParentHandle,
    total: &'static str,
    value: Bson,
}

impl Attempt for RemoveCounted {
    type Output = bool;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<bool>> {
        Box::pin(async move {
            let Self {
                parent,
                total,
                value,
            } = self;
            let equal = parent.scope.count_equal(value);
            let equal = parent.extras().pipeline(equal);
            let of_extras = equal.sum(Some(&mut *session)).await?;
            let removed = parent.pull(value, Some(&mut *session)).await?;
            if of_extras > 0 {
                let removed = i64::try_from(of_extras).unwrap_or(i64::MAX);
                parent.count_extras(total, -removed, session).await?;
            }
            Ok(removed)
        })
    }
}

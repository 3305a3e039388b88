//! Appends to the extras, and counts the items if the parent has a total.
//!
//! A change of the parent's own array updates the total in the same statement. A change of the
//! extras updates both collections in one transaction, so the total always agrees with them.

use bucket_core::{
    error::Kind,
    server::transaction::{self, Attempt},
};
use futures_util::future::BoxFuture;
use mongodb::ClientSession;

use crate::{
    Result,
    outlier::parent_handle::ParentHandle,
    write::{appended::Appended, engine::Batch, item::Entry},
};

impl ParentHandle {
    /// Appends the items to the extras, and counts them if the parent has a total. After an error,
    /// the batch holds those that were not stored.
    pub(super) async fn extend(
        &self,
        batch: &mut Batch,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        if self.scope.spec.total.is_none() {
            batch.start_afresh();
            return self.collections.extras.append(batch, session).await;
        }
        // As many in each transaction as an extras document holds.
        while !batch.is_empty() {
            let first = batch.entries.iter().take(self.scope.extras.capacity());
            let append = AppendCounted {
                parent: self.clone(),
                entries: first.map(|(_, entry)| entry.clone()).collect(),
            };
            let parents = &self.collections.parents;
            let appended = transaction::run_in(parents, append, session.as_deref_mut());
            batch.note_results(appended.await?);
        }
        Ok(())
    }
}

/// Appends to the extras, and adds to the parent's total.
struct AppendCounted {
    parent: ParentHandle,
    entries: Vec<Entry>,
}

impl Attempt for AppendCounted {
    /// The result of each item.
    type Output = Vec<Appended>;

    fn attempt<'s>(
        &'s self,
        session: &'s mut ClientSession,
    ) -> BoxFuture<'s, Result<Self::Output>> {
        Box::pin(async move {
            let Self { parent, entries } = self;
            // The parent first: of two transactions, one fails before it has done any work.
            let count = entries.len() as i64;
            if !parent.count_extras(count, session).await? {
                return Err(parent.error(Kind::NoParent));
            }
            let mut batch = parent.batch(entries.iter().cloned());
            let extras = &parent.collections.extras;
            extras.append(&mut batch, Some(&mut *session)).await?;
            let were_there = count - batch.count_stored() as i64;
            if were_there > 0 {
                parent.count_extras(-were_there, session).await?;
            }
            batch.done.sort_unstable_by_key(|(owner, _)| owner.at);
            let done = batch.done.into_iter();
            Ok(done.map(|(_, appended)| appended).collect())
        })
    }
}

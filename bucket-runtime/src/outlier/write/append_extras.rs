//! Appends to the extras, and counts the items if the parent has a total.
//!
//! A change of the parent's own array updates the total in the same statement. A change of the
//! extras updates both collections in one transaction, so the total always agrees with them.

use std::{collections::BTreeSet, mem};

use bucket_core::{
    error::Kind,
    server::transaction::{self, Attempt},
};
use futures_util::future::BoxFuture;
use mongodb::ClientSession;

use super::waiting_items::WaitingItems;
use crate::{
    Result,
    outlier::parent_handle::ParentHandle,
    write::{appended::Appended, engine::Batch},
};

impl ParentHandle {
    /// Appends the remaining items to the extras, and counts them if the parent has a total. After
    /// an error, `items` holds those that were not stored.
    pub(super) async fn extend(
        &self,
        items: &mut WaitingItems,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        if self.scope.spec.total.is_none() {
            return self.append_extras(items, session).await;
        }
        // As many in each transaction as an extras document holds.
        while !items.entries.is_empty() {
            let capacity = self.scope.spec.extras_capacity as usize;
            let most = items.entries.len().min(capacity);
            let append = AppendCounted {
                parent: self.clone(),
                items: WaitingItems {
                    entries: items.entries[..most].to_vec(),
                    ..WaitingItems::default()
                },
            };
            let parents = &self.collections.parents;
            let stored = transaction::run_in(parents, append, session.as_deref_mut());
            items.stored.extend(stored.await?);
            items.entries.drain(..most);
        }
        Ok(())
    }

    /// Appends the items to the extras, with the bucket engine.
    async fn append_extras(
        &self,
        items: &mut WaitingItems,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let entries = mem::take(&mut items.entries);
        let mut batch = Batch::with_owners(self.scope.extras.clone(), entries);
        let appended = self.collections.extras.append(&mut batch, session).await;
        let done = batch.done.drain(..);
        let stored = done.filter(|(_, appended)| *appended == Appended::Stored);
        items.stored.extend(stored.map(|(place, _)| place));
        items.entries.extend(batch.into_entries());
        appended
    }
}

/// Appends to the extras, and adds to the parent's total; returns the places of the items that were
/// not there before.
struct AppendCounted {
    parent: ParentHandle,
    items: WaitingItems,
}

impl Attempt for AppendCounted {
    type Output = BTreeSet<usize>;

    fn attempt<'s>(
        &'s self,
        session: &'s mut ClientSession,
    ) -> BoxFuture<'s, Result<BTreeSet<usize>>> {
        Box::pin(async move {
            let Self { parent, items } = self;
            // The parent first: of two transactions, one fails before it has done any work.
            let count = items.entries.len() as i64;
            if !parent.count_extras(count, session).await? {
                return Err(parent.error(Kind::NoParent));
            }
            let mut items = items.clone();
            (parent.append_extras(&mut items, Some(&mut *session))).await?;
            let were_there = count - items.stored.len() as i64;
            if were_there > 0 {
                parent.count_extras(-were_there, session).await?;
            }
            Ok(items.stored)
        })
    }
}

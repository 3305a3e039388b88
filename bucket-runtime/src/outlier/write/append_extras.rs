//! Appends to the extras, and counts the items if the parent has a total.
//!
//! A change of the parent's own array updates the total in the same statement. A change of the
//! extras updates both collections in one transaction, so the total always agrees with them.

use std::collections::BTreeSet;

use bucket_core::{
    error::Kind,
    protocol::budget::Budget,
    server::transaction::{self, Attempt},
    value::element::value_size,
};
use futures_util::future::BoxFuture;
use mongodb::{ClientSession, bson::Bson};

use super::waiting_items::WaitingItems;
use crate::{Error, Result, outlier::parent_handle::ParentHandle};

impl ParentHandle {
    /// Finds the first element that no document can hold: how many come before it, and why it
    /// cannot.
    pub(super) fn find_misfit(&self, elements: &[Bson]) -> (usize, Option<Error>) {
        let budget = Budget::of(&self.scope.extras);
        let check = |element| budget.map_or(Ok(()), |budget| budget.check(value_size(element)));
        let misfit = |(n, element)| Some((n, check(element).err()?));
        match elements.iter().enumerate().find_map(misfit) {
            Some((n, kind)) => (n, Some(self.error(kind))),
            None => (elements.len(), None),
        }
    }

    /// Appends the remaining items to the extras, and counts them if the parent has a total. After
    /// an error, `items` holds those that were not stored.
    pub(super) async fn extend(
        &self,
        items: &mut WaitingItems,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        match self.scope.spec.total {
            Some(total) => self.append_counted(total, items, session).await,
            None => self.append_extras(items, session).await,
        }
    }

    /// Appends the items to the extras, and counts them: as many as an extras document holds in
    /// each transaction.
    pub(super) async fn append_counted(
        &self,
        total: &'static str,
        items: &mut WaitingItems,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        while !items.is_empty() {
            let most = items.len().min(self.scope.spec.extras_capacity as usize);
            let append = AppendCounted {
                parent: self.clone(),
                total,
                elements: items.elements[..most].to_vec(),
            };
            let parents = &self.collections.parents;
            let stored = transaction::run_in(parents, append, session.as_deref_mut());
            items.remove_first(most, stored.await?);
        }
        Ok(())
    }

    /// Appends the items to the extras, with the bucket engine.
    async fn append_extras(
        &self,
        items: &mut WaitingItems,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let mut batch = items.take_batch(&self.scope.extras);
        let appended = self.collections.extras.append(&mut batch, session).await;
        items.put_batch_back(batch);
        appended
    }
}

/// Appends to the extras, and adds to the parent's total; returns how many items it stored.
struct AppendCounted {
    parent: ParentHandle,
    total: &'static str,
    elements: Vec<Bson>,
}

impl Attempt for AppendCounted {
    /// The positions of the items that were not there before.
    type Output = BTreeSet<usize>;

    fn attempt<'s>(
        &'s self,
        session: &'s mut ClientSession,
    ) -> BoxFuture<'s, Result<BTreeSet<usize>>> {
        Box::pin(async move {
            let Self {
                parent,
                total,
                elements,
            } = self;
            // The parent first: of two transactions, one fails before it has done any work.
            let count = elements.len() as i64;
            if !parent.count_extras(total, count, session).await? {
                return Err(parent.error(Kind::NoParent));
            }
            let mut items = WaitingItems::new(elements.clone());
            (parent.append_extras(&mut items, Some(&mut *session))).await?;
            let were_there = elements.len() - items.stored.len();
            if were_there > 0 {
                let count = -(were_there as i64);
                parent.count_extras(total, count, session).await?;
            }
            Ok(items.stored)
        })
    }
}

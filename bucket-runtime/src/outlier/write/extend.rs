//! Appends to the extras, and counts the items if the parent has a total.
//!
//! A change of the parent's own array updates the total in the same statement. A change of the extras
//! updates both collections in one transaction, so the total always agrees with them.

use futures_util::future::BoxFuture;
use mongodb::{ClientSession, bson::Bson};

use crate::{
    Error, Result,
    error::Kind,
    outlier::parent_handle::ParentHandle,
    protocol::budget::Budget,
    server::transaction::{self, Attempt},
    value::element::value_size,
    write::{engine::Batch, item::Entry},
};

impl ParentHandle {
    /// Finds the first element that no document can hold: how many come before it, and why it cannot.
    pub(super) fn find_misfit(&self, elements: &[Bson]) -> (usize, Option<Error>) {
        let budget = Budget::of(&self.scope.extras);
        let check = |element| budget.map_or(Ok(()), |budget| budget.check(value_size(element)));
        let misfit = |(n, element)| Some((n, check(element).err()?));
        match elements.iter().enumerate().find_map(misfit) {
            Some((n, kind)) => (n, Some(self.error(kind))),
            None => (elements.len(), None),
        }
    }

    /// Appends the remaining elements to the extras, and counts them if the parent has a total. After an
    /// error, `elements` holds those that were not stored.
    pub(super) async fn extend(
        &self,
        elements: &mut Vec<Bson>,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        match self.scope.spec.total {
            Some(total) => self.append_counted(total, elements, session).await,
            None => self.append_extras(elements, session).await,
        }
    }

    /// Appends the elements to the extras, and counts them: as many as an extras document holds in each
    /// transaction.
    pub(super) async fn append_counted(
        &self,
        total: &'static str,
        elements: &mut Vec<Bson>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        while !elements.is_empty() {
            let most = elements.len().min(self.scope.spec.extras_capacity as usize);
            let append = AppendCounted {
                parent: self.clone(),
                total,
                elements: elements[..most].to_vec(),
            };
            let parents = &self.collections.parents;
            transaction::run_in(parents, append, session.as_deref_mut()).await?;
            elements.drain(..most);
        }
        Ok(())
    }

    /// Appends the elements to the extras, with the bucket engine.
    async fn append_extras(
        &self,
        elements: &mut Vec<Bson>,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let entries = std::mem::take(elements).into_iter().map(Entry::from);
        let mut batch = Batch::new(self.scope.extras.clone(), entries);
        let appended = self.collections.extras.append(&mut batch, session).await;
        elements.extend(batch.into_entries().map(|entry| entry.element));
        appended
    }
}

/// Appends to the extras, and adds to the parent's total.
struct AppendCounted {
    parent: ParentHandle,
    total: &'static str,
    elements: Vec<Bson>,
}

impl Attempt for AppendCounted {
    type Output = ();

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<()>> {
        Box::pin(async move {
            let Self {
                parent,
                total,
                elements,
            } = self;
            // The parent first: of two transactions, one fails before it has done any work.
            let count = parent.scope.add_to_total(total, elements.len() as i64);
            if !parent.parent().modify(count, session).await? {
                return Err(parent.error(Kind::NoParent));
            }
            let mut elements = elements.clone();
            parent.append_extras(&mut elements, Some(session)).await
        })
    }
}

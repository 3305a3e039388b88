//! The parent's total: how many items it has in all.
//!
//! A change of the parent's own array updates the total in the same statement. A change of the extras
//! updates both collections in one transaction, so the total always agrees with them.

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Bson, Document},
    error::Error as DriverError,
};

use super::{collections::Collections, command::ParentScope};
use crate::{
    Result,
    error::Kind,
    server::transaction::{self, Attempt},
    value::element::whole,
};

impl Collections {
    /// Appends the elements to the extras, and counts them: as many as an extras document holds in each
    /// transaction. After an error, `elements` holds those that were not stored.
    pub(crate) async fn append_counted(
        &self,
        scope: &ParentScope,
        total: &'static str,
        elements: &mut Vec<Bson>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        while !elements.is_empty() {
            let most = elements.len().min(scope.spec.extras_capacity as usize);
            let append = Append {
                collections: self.clone(),
                scope: scope.clone(),
                total,
                elements: elements[..most].to_vec(),
            };
            transaction::run_in(&self.parents, append, session.as_deref_mut()).await?;
            elements.drain(..most);
        }
        Ok(())
    }

    /// Removes from the parent and its extras, and counts what was removed.
    pub(crate) async fn remove_counted(
        &self,
        scope: &ParentScope,
        total: &'static str,
        value: &Bson,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let remove = Remove {
            collections: self.clone(),
            scope: scope.clone(),
            total,
            value: value.clone(),
        };
        transaction::run_in(&self.parents, remove, session).await
    }

    /// The total of a parent and the number of its items, unless they are the same; with `correct` it
    /// writes the number into the total.
    pub(crate) async fn recount(
        &self,
        scope: &ParentScope,
        total: &'static str,
        correct: bool,
    ) -> Result<Option<(Bson, u64)>> {
        let recount = Recount {
            collections: self.clone(),
            scope: scope.clone(),
            total,
            correct,
        };
        transaction::run(&self.parents, recount).await
    }
}

struct Append {
    collections: Collections,
    scope: ParentScope,
    total: &'static str,
    elements: Vec<Bson>,
}

impl Attempt for Append {
    type Output = ();

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<()>> {
        Box::pin(async move {
            let Self {
                collections,
                scope,
                total,
                ..
            } = self;
            // The parent first: of two transactions, one fails before it has done any work.
            let count = scope.count_extra(total, self.elements.len() as i64);
            let counted = collections.parents.modify(count, Some(&mut *session)).await;
            let counted =
                counted.map_err(|error| collections.target_of(scope).write_error(error))?;
            if !counted {
                return Err(collections.target_of(scope).error(Kind::NoParent));
            }
            let mut elements = self.elements.clone();
            (collections.append_extras(scope, &mut elements, Some(session))).await
        })
    }
}

struct Remove {
    collections: Collections,
    scope: ParentScope,
    total: &'static str,
    value: Bson,
}

impl Attempt for Remove {
    type Output = bool;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<bool>> {
        Box::pin(async move {
            let Self {
                collections,
                scope,
                total,
                value,
            } = self;
            let fail = |error: DriverError| collections.target_of(scope).write_error(error);
            let extras = &collections.extras.server;
            let count = extras.sum(scope.count_equal(value), Some(&mut *session));
            let of_extras = count.await.map_err(fail)?;
            let removed = collections.pull(scope, value, Some(&mut *session)).await?;
            if of_extras > 0 {
                let count = scope.count_extra(total, -i64::try_from(of_extras).unwrap_or(i64::MAX));
                let counted = collections.parents.modify(count, Some(session)).await;
                counted.map_err(fail)?;
            }
            Ok(removed)
        })
    }
}

struct Recount {
    collections: Collections,
    scope: ParentScope,
    total: &'static str,
    correct: bool,
}

impl Attempt for Recount {
    type Output = Option<(Bson, u64)>;

    fn attempt<'s>(
        &'s self,
        session: &'s mut ClientSession,
    ) -> BoxFuture<'s, Result<Option<(Bson, u64)>>> {
        Box::pin(async move {
            let Self {
                collections,
                scope,
                total,
                ..
            } = self;
            let fail = |error: DriverError| collections.target_of(scope).write_error(error);
            let parents = &collections.parents;
            let own = parents.aggregate::<Document>(scope.own_items(total), Some(&mut *session));
            let Some(mut parent) = own.await.map_err(fail)?.pop() else {
                return Ok(None);
            };
            let extras = &collections.extras.server;
            let extras = extras.sum(scope.count_extras(), Some(&mut *session));
            let own = parent.get("items").and_then(whole).unwrap_or(0);
            let items = u64::try_from(own).unwrap_or(0) + extras.await.map_err(fail)?;
            let stored = parent.remove("total").unwrap_or(Bson::Null);
            if whole(&stored) == i64::try_from(items).ok() {
                return Ok(None);
            }
            if self.correct {
                let corrected = parents
                    .modify(scope.set_total(total, items), Some(session))
                    .await;
                corrected.map_err(fail)?;
            }
            Ok(Some((stored, items)))
        })
    }
}

//! Removes values, and deletes parents.

use mongodb::{ClientSession, bson::Bson};
use serde::Serialize;

use super::{collections::Collections, command::ParentScope, handle::Outliers};
use crate::{
    Error, Result,
    error::Kind,
    outlier::{IdRef, Outlier},
    value::element::element,
};

impl<T: Outlier> Outliers<T> {
    /// Removes all items that equal this one from the parent and its extras; returns whether there were any.
    /// Two round trips, three with extras; with a [total](macro@crate::Outlier#total) a transaction of four or
    /// five. Empty extras documents stay, with their numbers.
    ///
    /// The parent keeps its flag and its free room: further items still go to the extras, which keeps their
    /// order. A dropped future may leave some of several equal items; repeat the call.
    pub fn remove(&self, id: IdRef<'_, T>, item: impl Into<T::Item>) -> Remove<'static> {
        Remove::new(&self.collections, self.scope(id), &item.into())
    }

    /// Deletes a parent, then its extras; returns whether there was one. Two round trips.
    ///
    /// A push by another program at the same time may leave an extras document without a parent, and so may
    /// a dropped future. No read finds it unless the id is inserted again. Repeating the call, or
    /// [`repair`](Outlier::repair) with `delete_orphans(true)`, removes it.
    pub fn delete(&self, id: IdRef<'_, T>) -> Delete<'static> {
        Delete::new(&self.collections, self.scope(id))
    }
}

/// Builder of a removal: await it; see [`Outliers::remove`](crate::Outliers::remove).
#[must_use = "nothing is removed until this is awaited"]
pub struct Remove<'s> {
    collections: Collections,
    scope: ParentScope,
    value: Result<Bson>,
    session: Option<&'s mut ClientSession>,
}

impl<'s> Remove<'s> {
    pub(crate) fn new<I: Serialize>(
        collections: &Collections,
        scope: ParentScope,
        item: &I,
    ) -> Self {
        let value = element(item);
        Self {
            value: value.map_err(|error| {
                collections
                    .target_of(&scope)
                    .error(Kind::Serialize)
                    .with_source(error)
            }),
            collections: collections.clone(),
            scope,
            session: None,
        }
    }

    /// Removes in this session; in a transaction, all steps are part of it.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(self) -> Result<bool> {
        self.collections.called_for(&self.scope);
        self.collections
            .remove(&self.scope, &self.value?, self.session)
            .await
    }
}

/// Builder of a deletion: await it; see [`Outliers::delete`](crate::Outliers::delete).
#[must_use = "nothing is deleted until this is awaited"]
pub struct Delete<'s> {
    collections: Collections,
    scope: ParentScope,
    session: Option<&'s mut ClientSession>,
}

impl<'s> Delete<'s> {
    pub(crate) fn new(collections: &Collections, scope: ParentScope) -> Self {
        Self {
            collections: collections.clone(),
            scope,
            session: None,
        }
    }

    /// Deletes in this session; in a transaction, both steps are part of it.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(self) -> Result<bool> {
        self.collections.called_for(&self.scope);
        self.collections.delete(&self.scope, self.session).await
    }
}

impl Collections {
    async fn remove(
        &self,
        scope: &ParentScope,
        value: &Bson,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        match scope.spec.total {
            Some(total) => self.remove_counted(scope, total, value, session).await,
            None => self.pull(scope, value, session).await,
        }
    }

    /// Removes from the parent, then from every extras document: a value never moves between them.
    ///
    /// A page that becomes empty stays. If it were deleted, a writer that has read the last number and
    /// was then overtaken could use the number of a deleted page again, and its values would come before
    /// those of higher pages.
    pub(crate) async fn pull(
        &self,
        scope: &ParentScope,
        value: &Bson,
        mut session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let (filter, pipeline) = scope.pull(value);
        let pulled = self
            .parents
            .update_many(filter, pipeline, session.as_deref_mut())
            .await;
        let from_parent = pulled.map_err(|error| self.target_of(scope).write_error(error))? > 0;
        let (filter, pipeline) = scope.pull_extras(value);
        let pulled = (self.extras.server)
            .update_many(filter, pipeline, session)
            .await;
        let from_extras = pulled.map_err(|error| {
            let error = self.target_of(scope).write_of_many_error(error);
            after(from_parent, error)
        })?;
        Ok(from_parent || from_extras > 0)
    }

    /// The parent first: without it no writer opens another extras page.
    async fn delete(
        &self,
        scope: &ParentScope,
        mut session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        self.known.forget(&scope.extras.prefix);
        let parent = self
            .parents
            .delete_one(scope.parent(), session.as_deref_mut())
            .await;
        let existed = parent.map_err(|error| self.target_of(scope).write_error(error))?;
        let extras = self
            .extras
            .server
            .delete_many(scope.all_extras(), session)
            .await;
        extras.map_err(|error| after(existed, self.target_of(scope).write_of_many_error(error)))?;
        Ok(existed)
    }
}

/// The error of the second step. If the first step changed something, so did the call.
fn after(first: bool, error: Error) -> Error {
    if first { error.in_doubt() } else { error }
}

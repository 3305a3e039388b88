//! Removes values, and deletes parents.

use mongodb::{ClientSession, bson::Bson};
use serde::Serialize;

use super::{command::ParentScope, core::Core};
use crate::{Error, Result, error::Kind, value::element::element};

/// Builder of a removal: await it; see [`Outliers::remove`](crate::Outliers::remove).
#[must_use = "nothing is removed until this is awaited"]
pub struct Remove<'s> {
    core: Core,
    scope: ParentScope,
    value: Result<Bson>,
    session: Option<&'s mut ClientSession>,
}

impl Remove<'static> {
    pub(crate) fn new<I: Serialize>(core: &Core, scope: ParentScope, item: &I) -> Self {
        let value = element(item);
        Self {
            value: value.map_err(|error| core.fail(&scope, Kind::Serialize).with_source(error)),
            core: core.clone(),
            scope,
            session: None,
        }
    }
}

impl Remove<'_> {
    /// Removes in this session; in a transaction, all steps are part of it.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> Remove<'s> {
        Remove {
            core: self.core,
            scope: self.scope,
            value: self.value,
            session: Some(session.into()),
        }
    }
}

impl<'s> Remove<'s> {
    pub(crate) async fn execute(self) -> Result<bool> {
        self.core
            .remove(&self.scope, &self.value?, self.session)
            .await
    }
}

/// Builder of a deletion: await it; see [`Outliers::delete`](crate::Outliers::delete).
#[must_use = "nothing is deleted until this is awaited"]
pub struct Delete<'s> {
    core: Core,
    scope: ParentScope,
    session: Option<&'s mut ClientSession>,
}

impl Delete<'static> {
    pub(crate) fn new(core: &Core, scope: ParentScope) -> Self {
        Self {
            core: core.clone(),
            scope,
            session: None,
        }
    }
}

impl Delete<'_> {
    /// Deletes in this session; in a transaction, both steps are part of it.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> Delete<'s> {
        Delete {
            core: self.core,
            scope: self.scope,
            session: Some(session.into()),
        }
    }
}

impl<'s> Delete<'s> {
    pub(crate) async fn execute(self) -> Result<bool> {
        self.core.delete(&self.scope, self.session).await
    }
}

impl Core {
    /// Removes from the parent, then from every extras document: a value never moves between them.
    ///
    /// A page that becomes empty stays. If it were deleted, a writer that has read the last number and
    /// was then overtaken could use the number of a deleted page again, and its values would come before
    /// those of higher pages.
    async fn remove(
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
        let from_parent = pulled.map_err(|error| self.refused(scope, error))?;
        let (filter, pipeline) = scope.pull_extras(value);
        let pulled = (self.extras.server)
            .update_many(filter, pipeline, session)
            .await;
        let from_extras = pulled.map_err(|error| {
            let error = self.refused_many(scope, error);
            after(from_parent, error)
        })?;
        Ok(from_parent || from_extras)
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
        let existed = parent.map_err(|error| self.refused(scope, error))?;
        let extras = self
            .extras
            .server
            .delete_many(scope.all_extras(), session)
            .await;
        extras.map_err(|error| after(existed, self.refused_many(scope, error)))?;
        Ok(existed)
    }
}

/// The error of the second step. If the first step changed something, so did the call.
fn after(first: bool, error: Error) -> Error {
    if first { error.in_doubt() } else { error }
}

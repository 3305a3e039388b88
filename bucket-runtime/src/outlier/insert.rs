//! Inserts a parent, and splits it at once if it has more items than the threshold.

use mongodb::{
    ClientSession,
    bson::{Bson, Document},
};

use super::{command::ParentScope, core::Core};
use crate::{
    Result,
    error::Kind,
    outlier::Outlier,
    value::element::{document_size, element},
};

/// Builder of an insertion: await it; see [`Outliers::insert`](crate::Outliers::insert).
#[must_use = "a parent is inserted when this is awaited"]
pub struct Insert<'s> {
    core: Core,
    scope: ParentScope,
    parent: Result<Document>,
    session: Option<&'s mut ClientSession>,
}

impl Insert<'static> {
    pub(crate) fn new<T: Outlier>(core: &Core, scope: ParentScope, parent: &T) -> Self {
        let parent = match (parent.too_long(), element(parent)) {
            (Some(field), _) => Err(core.fail(&scope, Kind::TooLong(field))),
            (None, Ok(Bson::Document(parent))) => Ok(parent),
            (None, Ok(_)) => Err(core.fail(&scope, Kind::Serialize)),
            (None, Err(error)) => Err(core.fail(&scope, Kind::Serialize).with_source(error)),
        };
        Self {
            core: core.clone(),
            scope,
            parent,
            session: None,
        }
    }
}

impl Insert<'_> {
    /// Inserts in this session; in a transaction, the parent and its extras are part of it.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> Insert<'s> {
        Insert {
            core: self.core,
            scope: self.scope,
            parent: self.parent,
            session: Some(session.into()),
        }
    }
}

impl<'s> Insert<'s> {
    pub(crate) async fn execute(self) -> Result<()> {
        let (core, scope) = (self.core, self.scope);
        core.insert(&scope, self.parent?, self.session).await
    }
}

impl Core {
    /// The parent comes first, with its flag, and its extras after it. So an id that is taken is refused
    /// before anything is stored, there are never extras without a flag, and an interrupted call stores
    /// a parent with the first of its items.
    async fn insert(
        &self,
        scope: &ParentScope,
        mut parent: Document,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let mut rest = match parent.get_array_mut(scope.spec.items) {
            Ok(items) => std::mem::take(items),
            Err(_) => Vec::new(),
        };
        if let (_, Some(misfit)) = self.split_at_misfit(scope, &rest) {
            return Err(misfit);
        }
        let bytes = document_size(&parent);
        let kept = scope.fitting(0, bytes, &rest);
        if let Ok(items) = parent.get_array_mut(scope.spec.items) {
            items.extend(rest.drain(..kept));
        }
        if !rest.is_empty() {
            parent.insert(scope.spec.flag, true);
        }
        let inserted = self.parents.insert(parent, session.as_deref_mut()).await;
        inserted.map_err(|error| self.refused(scope, error))?;
        let all = rest.len();
        self.append_extras(scope, &mut rest, session)
            .await
            .map_err(|error| error.with_stored(kept + all - rest.len()))
    }
}

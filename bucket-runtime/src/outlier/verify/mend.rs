//! Solves problems that need no guessing.

use super::{Checked, OutlierProblem as Problem};
use crate::{
    Result,
    outlier::{Outlier, command::ParentScope, split},
};

impl<T: Outlier> Checked<T> {
    /// Solves a problem, if it is one of parents; returns whether it did. Extras of vanished parents stay
    /// unless they are to be deleted.
    pub(super) async fn mend(&self, problem: &Problem, delete_orphans: bool) -> Result<bool> {
        let (Some(parent), false) = (problem.ids().first(), matches!(problem, Problem::Extras(_)))
        else {
            return Ok(false);
        };
        if !problem.is_repairable() && !delete_orphans {
            return Ok(false);
        }
        let collections = self.outliers.collections();
        let scope = self.outliers.scope_of(parent)?;
        match problem {
            Problem::TooLarge { .. } => Ok(split::split(collections, &scope).await? > 0),
            Problem::NoFlag { .. } => {
                let flagged = collections
                    .parents
                    .update_once(scope.set_flag(), None)
                    .await;
                flagged.map_err(|error| collections.context_of(&scope).write(error))
            }
            Problem::NoParent { .. } => self.delete_orphans(&scope).await,
            Problem::WrongTotal { .. } => match scope.spec.total {
                Some(total) => Ok(collections.recount(&scope, total, true).await?.is_some()),
                None => Ok(false),
            },
            Problem::UnreadableItem { .. }
            | Problem::UnreadableParent { .. }
            | Problem::Extras(_) => Ok(false),
        }
    }

    /// Deletes the extras of a parent, unless its id was inserted again since the verification.
    async fn delete_orphans(&self, scope: &ParentScope) -> Result<bool> {
        let collections = self.outliers.collections();
        if collections.state(scope, true, None).await?.is_some() {
            return Ok(false);
        }
        let extras = &collections.extras.server;
        let deleted = extras.delete_many(scope.all_extras(), None).await;
        let deleted =
            deleted.map_err(|error| collections.context_of(scope).write_of_many(error))?;
        Ok(deleted > 0)
    }
}

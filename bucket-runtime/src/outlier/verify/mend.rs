//! Solves problems that need no guessing.

use mongodb::bson::{Bson, doc};

use super::{Checked, OutlierProblem as Problem, extras, id_of, number};
use crate::{
    Result,
    outlier::{Outlier, command::array_length, split},
};

impl<T: Outlier> Checked<T> {
    /// Solves a problem, if it is one of parents; returns whether it did.
    pub(super) async fn mend(&self, problem: &Problem) -> Result<bool> {
        let (Problem::TooLarge { parent, .. }
        | Problem::NoFlag { parent }
        | Problem::WrongTotal { parent, .. }) = problem
        else {
            return Ok(false);
        };
        let collections = self.outliers.collections();
        let scope = self.outliers.scope_of(parent)?;
        match (problem, scope.spec.total) {
            (Problem::TooLarge { .. }, _) => Ok(split::split(collections, &scope).await? > 0),
            (Problem::WrongTotal { .. }, Some(total)) => {
                Ok(collections.recount(&scope, total, true).await?.is_some())
            }
            (Problem::NoFlag { .. }, _) => {
                let flagged = collections
                    .parents
                    .update_once(scope.set_flag(), None)
                    .await;
                flagged.map_err(|error| collections.target_of(&scope).write_error(error))
            }
            _ => Ok(false),
        }
    }

    /// Deletes the extras of a parent that does not exist, and returns how many items they held; `None` if
    /// none was deleted.
    ///
    /// The id may be inserted again meanwhile. So the extras are read before the parent is looked for, and
    /// each document is deleted only if it still holds as many items as then.
    pub(super) async fn delete_orphans(&self, parent: &Bson) -> Result<Option<u64>> {
        let collections = self.outliers.collections();
        let scope = self.outliers.scope_of(parent)?;
        let server = &collections.extras.server;
        let length = array_length(scope.spec.extra_items);
        let read = [
            doc! { "$match": scope.all_extras() },
            doc! { "$project": { "items": &length } },
        ];
        let found = extras::rows(server, read).await?;
        if collections.state(&scope, true, None).await?.is_some() {
            return Ok(None);
        }
        let mut deleted = None;
        for row in found {
            let items = number(&row, "items");
            let mut unchanged = scope.all_extras();
            unchanged.insert("_id", id_of(&row));
            unchanged.insert("$expr", doc! { "$eq": [&length, items as i64] });
            let gone = server.delete_one(unchanged, None).await;
            if gone.map_err(|error| collections.target_of(&scope).write_error(error))? {
                *deleted.get_or_insert(0) += items;
            }
        }
        Ok(deleted)
    }
}

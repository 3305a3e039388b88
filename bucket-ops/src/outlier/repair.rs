//! Repairs what needs no guessing.

use std::{collections::BTreeMap, marker::PhantomData};

use bucket_core::{
    protocol::{command::equality, range::Range},
    server::Server,
    value::shell::id_of,
};
use bucket_runtime::{
    __ops::{array_length, open_both},
    Outlier, Result,
};
use mongodb::bson::{Bson, doc};

use super::{
    command::set_flag,
    recount::recount,
    split::split,
    verify::{
        OutlierVerifier,
        rows::{count_of, rows},
        stored_parent,
    },
};
use crate::verify::{Problem, ProblemKind};

/// The result of a repair; see [`OutlierOps::repair`](crate::OutlierOps::repair).
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RepairedOutliers {
    /// How many problems of each kind it solved.
    pub repaired: BTreeMap<ProblemKind, u64>,
    /// How many items it deleted, with the extras of parents that do not exist; 0 without
    /// [`delete_orphans`](RepairOutliers::delete_orphans).
    pub deleted_items: u64,
    /// The problems that are left.
    pub left: Vec<Problem>,
    /// Why it could not solve some of these: a text for each, with the parent's id.
    pub refused: Vec<String>,
}

/// Builder of a repair: await it; see [`OutlierOps::repair`](crate::OutlierOps::repair).
#[must_use = "nothing is repaired until this is awaited"]
pub struct RepairOutliers<T> {
    parents: Server,
    extras: Server,
    delete_orphans: bool,
    parent: PhantomData<fn() -> T>,
}

impl<T: Outlier> RepairOutliers<T> {
    pub(super) fn new(parents: Server, extras: Server) -> Self {
        Self {
            parents,
            extras,
            delete_orphans: false,
            parent: PhantomData,
        }
    }

    /// Whether to delete the extras of parents that do not exist
    /// ([`NoParent`](ProblemKind::NoParent)), with their items. The default is `false`: they stay,
    /// and are among the problems that are left. A parent that is inserted again gets them back
    /// with the next repair.
    ///
    /// ```no_run
    /// # use bucket_ops::OutlierOps;
    /// # use bucket_runtime::{Outlier, mongodb::Database};
    /// # async fn example<Book: Outlier>(db: Database) -> bucket_runtime::Result<()> {
    /// let result = OutlierOps::<Book>::of(&db).repair().delete_orphans(true).await?;
    /// println!("{:?}: {} items", result.repaired, result.deleted_items); // {NoParent: 1}: 7 items
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete_orphans(mut self, delete: bool) -> Self {
        self.delete_orphans = delete;
        self
    }

    pub(crate) async fn execute(self) -> Result<RepairedOutliers> {
        let (parents, extras) = (self.parents, self.extras);
        parents.needs_replica_set("repair").await?;
        let verifier = OutlierVerifier::<T>::check(parents.clone(), extras.clone());
        let mut verifier = verifier.await?;
        // A parent can be split once its extras are in order, and have their indexes.
        let mut repaired = verifier.extras.repair().await?;
        match open_both(parents, extras, true).await {
            Ok(opened) => verifier.outliers = opened,
            // The twins are problems of their own.
            Err(error) if error.is_not_unique() => {}
            Err(error) => return Err(error),
        }
        let (mut deleted_items, mut refused) = (0, Vec::new());
        for problem in verifier.verify().await?.problems {
            let kind = problem.kind;
            let solved = match &problem.ids[..] {
                [parent] if kind == ProblemKind::NoParent && self.delete_orphans => {
                    verifier.delete_orphans(parent).await.map(|items| {
                        deleted_items += items.unwrap_or(0);
                        items.is_some()
                    })
                }
                [parent] => verifier.solve(kind, parent).await,
                _ => Ok(false),
            };
            bucket_core::reached!("repaired in parents: {kind:?}, {:?}", solved.as_ref().ok());
            match solved {
                Ok(true) => *repaired.entry(kind).or_default() += 1,
                Ok(false) => {}
                Err(error) if error.is_fatal() && !error.is_index_missing() => return Err(error),
                // Something foreign, or a double, is in the way.
                Err(error) => refused.push(error.to_string()),
            }
        }
        let left = verifier.verify().await?.problems;
        Ok(RepairedOutliers {
            repaired,
            deleted_items,
            left,
            refused,
        })
    }
}

impl<T: Outlier> OutlierVerifier<T> {
    /// Solves a problem of the parent with this `_id`, or of the extras document, if its `_id` is
    /// foreign; returns whether it did.
    async fn solve(&self, kind: ProblemKind, id: &Bson) -> Result<bool> {
        let stored = || stored_parent(&self.outliers, id);
        match (kind, T::SPEC.total) {
            (ProblemKind::TooLarge, _) => split(stored()?).await,
            (ProblemKind::ForeignId, _) => {
                let reference = Range::unordered().project(doc! { T::SPEC.reference: 1 });
                let document = doc! { "_id": equality(id) };
                let document = self.extras.server.target().find(document, reference);
                match document.read_primary().first(None).await? {
                    Some(document) => {
                        let parent = document.get(T::SPEC.reference).unwrap_or(&Bson::Null);
                        split(stored_parent(&self.outliers, parent)?).await
                    }
                    // It went together with another one of its parent.
                    None => Ok(true),
                }
            }
            (ProblemKind::WrongTotal, Some(total)) => {
                Ok(recount(stored()?, total, true).await?.is_some())
            }
            (ProblemKind::NoFlag, _) => {
                let parent = stored()?;
                let flag = || set_flag(&parent.scope);
                parent.parent().update(flag, None).await
            }
            _ => Ok(false),
        }
    }

    /// Deletes the extras of a parent that does not exist, and returns how many items they held;
    /// `None` if none was deleted.
    ///
    /// The id may be inserted again meanwhile. So the extras are read before the parent is looked
    /// for, and each document is deleted only if it still holds as many items as then.
    async fn delete_orphans(&self, parent: &Bson) -> Result<Option<u64>> {
        let parent = stored_parent(&self.outliers, parent)?;
        let scope = &parent.scope;
        let length = array_length(scope.spec.extra_items);
        let read = [
            doc! { "$match": scope.extras.all() },
            doc! { "$project": { "items": &length } },
        ];
        let found = rows(parent.extras(), read).await?;
        if parent.read_state(&[], true, None).await?.is_some() {
            return Ok(None);
        }
        let mut deleted = None;
        for row in found {
            let items = count_of(&row, "items");
            let mut unchanged = scope.extras.all();
            unchanged.insert("_id", id_of(&row));
            unchanged.insert("$expr", doc! { "$eq": [&length, items as i64] });
            if parent.extras().delete_one(unchanged, None).await? {
                *deleted.get_or_insert(0) += items;
            }
        }
        Ok(deleted)
    }
}

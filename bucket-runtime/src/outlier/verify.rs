//! Verifies what is stored against O1 to O5, and repairs whatever needs no guessing.

mod extras;
mod mend;
mod parents;
mod problem;

use std::{collections::BTreeMap, marker::PhantomData};

use mongodb::{
    Collection,
    bson::{Bson, Document, RawDocument, doc},
};

pub use self::problem::OutlierProblem;
use super::{command, handle::Outliers};
use crate::{
    Error, Result,
    error::Kind,
    maintain::verify::{Verifier, exists, verifier},
    outlier::{Outlier, extra::Extra},
    schema::spec::OutlierSpec,
    value::element::whole,
    write::engine::Engine,
};

/// The result of a verification; see [`Outlier::verify`](crate::Outlier::verify).
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct VerifiedOutliers {
    /// How many parents there are.
    pub parents: u64,
    /// How many extras documents there are.
    pub extras: u64,
    /// How many items there are, in parents and extras.
    pub items: u64,
    /// Each problem that was found.
    pub problems: Vec<OutlierProblem>,
}

/// The result of a repair; see [`Outlier::repair`](crate::Outlier::repair).
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RepairedOutliers {
    /// How many problems it solved, by their [`kind`](OutlierProblem::kind).
    pub repaired: BTreeMap<&'static str, u64>,
    /// How many items it deleted, with the extras of parents that do not exist; 0 without
    /// [`delete_orphans`](RepairOutliers::delete_orphans).
    pub deleted_items: u64,
    /// The problems that are left.
    pub left: Vec<OutlierProblem>,
}

/// Builder of a verification: await it; see [`Outlier::verify`](crate::Outlier::verify).
#[must_use = "nothing is verified until this is awaited"]
pub struct VerifyOutliers<T>(Unopened<T>);

impl<T: Outlier> VerifyOutliers<T> {
    pub(crate) fn new(parents: Collection<Document>, extras: Collection<Document>) -> Self {
        Self(Unopened::new(parents, extras))
    }

    pub(crate) async fn execute(self) -> Result<VerifiedOutliers> {
        self.0.check().await?.verify().await
    }
}

/// Builder of a repair: await it; see [`Outlier::repair`](crate::Outlier::repair).
#[must_use = "nothing is repaired until this is awaited"]
pub struct RepairOutliers<T> {
    unopened: Unopened<T>,
    delete_orphans: bool,
}

impl<T: Outlier> RepairOutliers<T> {
    pub(crate) fn new(parents: Collection<Document>, extras: Collection<Document>) -> Self {
        Self {
            unopened: Unopened::new(parents, extras),
            delete_orphans: false,
        }
    }

    /// Whether to delete the extras of parents that do not exist
    /// ([`NoParent`](OutlierProblem::NoParent)), with their items. The default is `false`: they stay, and
    /// are among the problems that are left. A parent that is inserted again gets them back with the next
    /// repair.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, mongodb::Database};
    /// # async fn example<Book: Outlier>(db: Database) -> bucket_runtime::Result<()> {
    /// let result = Book::repair(&db).delete_orphans(true).await?;
    /// println!("{:?}: {} items", result.repaired, result.deleted_items); // {"NoParent": 1}: 7 items
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete_orphans(mut self, delete: bool) -> Self {
        self.delete_orphans = delete;
        self
    }

    pub(crate) async fn execute(self) -> Result<RepairedOutliers> {
        let checked = self.unopened.check().await?;
        // A parent can be split once its extras are in order.
        let mut repaired = checked.extras.repair().await?;
        let mut deleted_items = 0;
        for problem in checked.verify_parents().await?.problems {
            let solved = match &problem {
                OutlierProblem::NoParent { parent, .. } if self.delete_orphans => {
                    checked.delete_orphans(parent).await.map(|items| {
                        deleted_items += items.unwrap_or(0);
                        items.is_some()
                    })
                }
                problem => checked.mend(problem).await,
            };
            match solved {
                Ok(true) => *repaired.entry(problem.kind()).or_default() += 1,
                Ok(false) => {}
                // Something foreign is in the way, which is left as a problem of its own.
                Err(error) if error.is_deserialize() => {}
                Err(error) => return Err(error),
            }
        }
        let left = checked.verify().await?.problems;
        Ok(RepairedOutliers {
            repaired,
            deleted_items,
            left,
        })
    }
}

/// The two collections, whether they open or not.
struct Unopened<T> {
    parents: Collection<Document>,
    extras: Verifier,
    parent: PhantomData<fn() -> T>,
}

impl<T: Outlier> Unopened<T> {
    fn new(parents: Collection<Document>, extras: Collection<Document>) -> Self {
        Self {
            parents,
            extras: Verifier {
                // The manual's own extras documents have no count.
                buckets: doc! { "count": { "$exists": true } },
                ..verifier::<Extra<T>>(extras)
            },
            parent: PhantomData,
        }
    }

    /// An error if neither collection exists, or if an index of the extras differs from the struct.
    async fn check(self) -> Result<Checked<T>> {
        let server = self.extras.server.clone();
        let parents = server.with_collection(self.parents);
        parents.called_for(None);
        // The parents' collection exists from its first parent on, that of the extras once it is opened.
        if !exists(&parents).await? && !exists(&server).await? {
            return Err(parents.target().error(Kind::NoCollection));
        }
        let index = self.extras.check_indexes().await;
        let index = index.map_err(Error::of_extras)?;
        Ok(Checked {
            outliers: Outliers::new(parents, Engine::new(server, index)),
            extras: self.extras,
        })
    }
}

/// The two collections, with indexes that match the struct.
struct Checked<T> {
    outliers: Outliers<T>,
    extras: Verifier,
}

impl<T: Outlier> Checked<T> {
    /// The spec as a `static`, which promotion alone does not give in generic code.
    const SPEC: &'static OutlierSpec = &T::SPEC;

    async fn verify(&self) -> Result<VerifiedOutliers> {
        let mut verified = self.verify_parents().await?;
        let of_buckets = self.extras.problems().await?;
        let of_buckets = of_buckets.into_iter().map(OutlierProblem::Extras);
        verified.problems.extend(of_buckets);
        let extras = &self.extras.server;
        let uncounted = extras::without_count::<T>(extras).await?;
        verified.problems.extend(uncounted);
        extras::count(extras, Self::SPEC, &mut verified).await?;
        Ok(verified)
    }

    /// The problems of parents, and of extras that concern parents.
    async fn verify_parents(&self) -> Result<VerifiedOutliers> {
        let mut verified = VerifiedOutliers::default();
        parents::read(&self.outliers, &mut verified).await?;
        let of_flags = extras::without_flag::<T>(self.outliers.collections()).await?;
        verified.problems.extend(of_flags);
        verified.problems.extend(self.wrong_totals().await?);
        Ok(verified)
    }

    /// Each suspicious parent is counted again in a transaction: an item may have been pushed between the
    /// two collections.
    async fn wrong_totals(&self) -> Result<Vec<OutlierProblem>> {
        let collections = self.outliers.collections();
        let Some(total) = Self::SPEC.total else {
            return Ok(Vec::new());
        };
        let extras = collections.extras.server.collection().name();
        let suspicious = command::wrong_totals(Self::SPEC, extras, total);
        let mut problems = Vec::new();
        for row in extras::rows(&collections.parents, suspicious).await? {
            let parent = id_of(&row);
            // A parent with a foreign id is another kind of problem.
            let Ok(scope) = self.outliers.scope_of(&parent) else {
                continue;
            };
            if let Some((total, items)) = collections.recount(&scope, total, false).await? {
                problems.push(OutlierProblem::WrongTotal {
                    parent,
                    total,
                    items,
                });
            }
        }
        Ok(problems)
    }
}

fn id_of(row: &RawDocument) -> Bson {
    let id = row.get("_id").ok().flatten();
    let id = id.and_then(|id| Bson::try_from(id).ok());
    id.unwrap_or(Bson::Null)
}

fn number(row: &RawDocument, name: &str) -> u64 {
    let number = row.get(name).ok().flatten();
    let number = number.and_then(|number| whole(&Bson::try_from(number).ok()?));
    number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

//! Verifies what is stored against O2 to O5, and repairs whatever needs no guessing.

use std::{fmt, marker::PhantomData};

use mongodb::{
    Collection,
    bson::{Bson, Document, doc},
};

use super::{
    collections::Collections,
    command::{self, array_length},
    handle::Outliers,
    split,
};
use crate::{
    Error, Result,
    maintain::verify::{BucketProblem, Verifier, verifier},
    outlier::{Outlier, extra::Extra},
    schema::spec::OutlierSpec,
    write::engine::Engine,
};

/// A problem that breaks a guarantee.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OutlierProblem {
    /// O2: a parent holds more items than the threshold, or takes more bytes than `max_bytes` although
    /// some items could move.
    TooLarge {
        /// The parent's `_id`.
        parent: Bson,
        /// How many items it holds.
        items: u64,
    },
    /// O3: a parent without a flag has extras, so no read returns them.
    NoFlag {
        /// The parent's `_id`.
        parent: Bson,
    },
    /// O3: there are extras of a parent that does not exist: a delete raced with a push.
    NoParent {
        /// The `_id` of the deleted parent.
        parent: Bson,
        /// How many extras documents there are.
        documents: u64,
    },
    /// O1: the total of a parent (`#[outlier(total)]`) is not the number of its items, extras included:
    /// another program wrote some.
    WrongTotal {
        /// The parent's `_id`.
        parent: Bson,
        /// The stored total; `Null` if there is none.
        total: Bson,
        /// How many items it has.
        items: u64,
    },
    /// O4: what breaks a guarantee in an extras document, which is a bucket; or an item of it that cannot
    /// be read.
    Extras(BucketProblem),
}

impl fmt::Display for OutlierProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { parent, items } => {
                write!(
                    f,
                    "O2: parent {parent} with {items} items exceeds the threshold or `max_bytes`; \
                     `repair` splits it"
                )
            }
            Self::NoFlag { parent } => write!(
                f,
                "O3: parent {parent} has extras but no flag; `repair` sets it"
            ),
            Self::NoParent { parent, documents } => {
                write!(
                    f,
                    "O3: {documents} extras documents belong to parent {parent}, which does not \
                     exist; `repair` deletes them"
                )
            }
            Self::WrongTotal {
                parent,
                total,
                items,
            } => write!(
                f,
                "O1: the total of parent {parent} is {total}, but it has {items} items; `repair` \
                 corrects it"
            ),
            Self::Extras(BucketProblem::OverFull { bucket, items, .. }) => write!(
                f,
                "O4: extras document {bucket} holds {items} items, more than extras_capacity; push them \
                 again and delete it"
            ),
            Self::Extras(BucketProblem::Unreadable {
                bucket,
                place,
                error,
                ..
            }) => write!(
                f,
                "O1: item {place} (from 0) of extras document {bucket} cannot be read: {error}; correct \
                 it, or take it out"
            ),
            Self::Extras(BucketProblem::ForeignId { bucket, .. }) => write!(
                f,
                "O4: extras document {bucket} has a count, but not the id of a page, so it may block \
                 pushes; push its items again and delete it"
            ),
            Self::Extras(problem) => write!(f, "O4, in the extras: {problem}"),
        }
    }
}

/// Builder of a verification: await it; see [`Outlier::verify`](crate::Outlier::verify).
#[must_use = "nothing is verified until this is awaited"]
pub struct VerifyOutliers<T>(Unopened<T>);

impl<T: Outlier> VerifyOutliers<T> {
    pub(crate) fn new(parents: Collection<Document>, extras: Collection<Document>) -> Self {
        Self(Unopened::new(parents, extras))
    }

    pub(crate) async fn execute(self) -> Result<Vec<OutlierProblem>> {
        self.0.check().await?.problems().await
    }
}

/// Builder of a repair: await it; see [`Outlier::repair`](crate::Outlier::repair).
#[must_use = "nothing is repaired until this is awaited"]
pub struct RepairOutliers<T>(Unopened<T>);

impl<T: Outlier> RepairOutliers<T> {
    pub(crate) fn new(parents: Collection<Document>, extras: Collection<Document>) -> Self {
        Self(Unopened::new(parents, extras))
    }

    pub(crate) async fn execute(self) -> Result<Vec<OutlierProblem>> {
        let checked = self.0.check().await?;
        // A parent can be split once its extras are in order.
        checked.extras.repair().await?;
        for problem in checked.of_parents().await? {
            mend(&checked.outliers, &problem).await?;
        }
        checked.problems().await
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

    /// An error if an index of the extras differs from the struct.
    async fn check(self) -> Result<Checked<T>> {
        let server = self.extras.server.clone();
        let parents = server.beside(self.parents);
        parents.called_for(None);
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

    async fn problems(&self) -> Result<Vec<OutlierProblem>> {
        let mut problems = self.of_parents().await?;
        let of_extras = self.extras.problems().await?;
        problems.extend(of_extras.into_iter().map(OutlierProblem::Extras));
        Ok(problems)
    }

    async fn of_parents(&self) -> Result<Vec<OutlierProblem>> {
        let mut problems = of_parents(self.outliers.collections(), Self::SPEC).await?;
        problems.extend(self.wrong_totals().await?);
        Ok(problems)
    }

    /// Each suspicious parent is counted again in a transaction: an item may have been pushed between the
    /// two collections.
    async fn wrong_totals(&self) -> Result<Vec<OutlierProblem>> {
        let collections = self.outliers.collections();
        let Some(total) = Self::SPEC.total else {
            return Ok(Vec::new());
        };
        let extras = collections.extras.server.collection().name();
        let found = (collections.parents)
            .aggregate::<Document>(command::wrong_totals(Self::SPEC, extras, total), None);
        let found = found.await;
        let found = found.map_err(|error| collections.parents.context().read(error))?;
        let mut problems = Vec::new();
        for mut found in found {
            let parent = found.remove("_id").unwrap_or(Bson::Null);
            let scope = self.outliers.scope_of(&parent)?;
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

async fn of_parents(collections: &Collections, spec: &OutlierSpec) -> Result<Vec<OutlierProblem>> {
    let of_parents = |error| collections.parents.context().read(error);
    let extras = &collections.extras.server;
    let of_extras = |error| extras.context().read(error);
    let too_large = collections
        .parents
        .aggregate::<Document>(too_large(spec), None)
        .await
        .map_err(of_parents)?;
    let parents = collections.parents.collection().name();
    let lonely = extras
        .aggregate(without_flag(spec, parents), None)
        .await
        .map_err(of_extras)?;

    let id = |found: &Document| found.get("_id").cloned().unwrap_or(Bson::Null);
    let n = |found: &Document| {
        let n = found
            .get("n")
            .and_then(crate::value::element::whole)
            .unwrap_or(0);
        u64::try_from(n).unwrap_or(0)
    };
    let mut problems = Vec::new();
    problems.extend(too_large.iter().map(|found| OutlierProblem::TooLarge {
        parent: id(found),
        items: n(found),
    }));
    problems.extend(
        lonely
            .iter()
            .map(|found: &Document| match found.get_array("parent") {
                Ok(parent) if parent.is_empty() => OutlierProblem::NoParent {
                    parent: id(found),
                    documents: n(found),
                },
                _ => OutlierProblem::NoFlag { parent: id(found) },
            }),
    );
    Ok(problems)
}

async fn mend<T: Outlier>(outliers: &Outliers<T>, problem: &OutlierProblem) -> Result<()> {
    let collections = outliers.collections();
    match problem {
        OutlierProblem::TooLarge { parent, .. } => {
            split::split(collections, &outliers.scope_of(parent)?).await?;
        }
        OutlierProblem::NoFlag { parent } => {
            let scope = outliers.scope_of(parent)?;
            let flagged = collections.parents.modify(scope.set_flag(), None).await;
            flagged.map_err(|error| collections.context_of(&scope).write(error))?;
        }
        OutlierProblem::NoParent { parent, .. } => {
            let scope = outliers.scope_of(parent)?;
            // The id may have been inserted again since the verification.
            if collections.state(&scope, true, None).await?.is_none() {
                let deleted = collections
                    .extras
                    .server
                    .delete_many(scope.all_extras(), None)
                    .await;
                deleted.map_err(|error| collections.context_of(&scope).write_of_many(error))?;
            }
        }
        OutlierProblem::WrongTotal { parent, .. } => {
            let scope = outliers.scope_of(parent)?;
            if let Some(total) = scope.spec.total {
                collections.recount(&scope, total, true).await?;
            }
        }
        // The extras were repaired before.
        OutlierProblem::Extras(_) => {}
    }
    Ok(())
}

/// O2: parents that are too large, and how many items they hold.
fn too_large(spec: &OutlierSpec) -> Vec<Document> {
    vec![
        doc! { "$match": command::too_large(spec) },
        doc! { "$project": { "n": array_length(spec.items) } },
    ]
}

/// O3: the parents with extras that have no flag, or do not exist.
fn without_flag(spec: &OutlierSpec, parents: &str) -> Vec<Document> {
    vec![
        doc! { "$group": { "_id": format!("${}", spec.reference), "n": { "$sum": 1 } } },
        doc! { "$lookup": {
            "from": parents,
            "localField": "_id",
            "foreignField": "_id",
            "pipeline": [{ "$project": { "_id": 0, "flag": format!("${}", spec.flag) } }],
            "as": "parent",
        } },
        doc! { "$match": { "parent.flag": { "$ne": true } } },
    ]
}

//! Verifies what is stored against O2 to O5, and repairs whatever needs no guessing.

use std::fmt;

use mongodb::bson::{Bson, Document, doc};

use super::{
    command::{self, array_length},
    core::Core,
    handle::Outliers,
    split,
};
use crate::{
    Error, Result,
    error::Kind,
    outlier::Outlier,
    schema::{names::SEALED, spec::OutlierSpec},
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
    /// O4: the count of an extras document is not the length of its array, or exceeds the capacity.
    WrongCount {
        /// The `_id` of the extras document.
        extras: Bson,
    },
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
            Self::WrongCount { extras } => {
                write!(
                    f,
                    "O4: the count of extras document {extras} is not the length of its array, or exceeds \
                     the capacity; `repair` corrects a wrong count"
                )
            }
        }
    }
}

/// Builder of a verification: await it; see [`Outliers::verify`](crate::Outliers::verify).
#[must_use = "nothing is verified until this is awaited"]
pub struct Verify<T>(Outliers<T>);

impl<T: Outlier> Verify<T> {
    pub(crate) fn new(outliers: &Outliers<T>) -> Self {
        Self(outliers.clone())
    }
}

impl<T: Outlier> Verify<T> {
    pub(crate) async fn execute(self) -> Result<Vec<OutlierProblem>> {
        verify(self.0.core(), &T::SPEC).await
    }
}

/// Builder of a repair: await it; see [`Outliers::repair`](crate::Outliers::repair).
#[must_use = "nothing is repaired until this is awaited"]
pub struct Repair<T>(Outliers<T>);

impl<T: Outlier> Repair<T> {
    pub(crate) fn new(outliers: &Outliers<T>) -> Self {
        Self(outliers.clone())
    }
}

impl<T: Outlier> Repair<T> {
    pub(crate) async fn execute(self) -> Result<Vec<OutlierProblem>> {
        let core = self.0.core();
        for problem in verify(core, &T::SPEC).await? {
            mend(&self.0, &problem).await?;
        }
        verify(core, &T::SPEC).await
    }
}

async fn verify(core: &Core, spec: &OutlierSpec) -> Result<Vec<OutlierProblem>> {
    let of_parents = |error| Error::read(error, core.parents.name());
    let extras = &core.extras.server;
    let of_extras = |error| Error::read(error, extras.name());
    let too_large = core
        .parents
        .aggregate::<Document>(too_large(spec), None)
        .await
        .map_err(of_parents)?;
    let parents = core.parents.collection().name();
    let lonely = extras
        .aggregate(without_flag(spec, parents), None)
        .await
        .map_err(of_extras)?;
    let wrong = extras
        .aggregate::<Document>(wrong_counts(spec), None)
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
    problems.extend(
        wrong
            .iter()
            .map(|found| OutlierProblem::WrongCount { extras: id(found) }),
    );
    Ok(problems)
}

async fn mend<T: Outlier>(outliers: &Outliers<T>, problem: &OutlierProblem) -> Result<()> {
    let core = outliers.core();
    let scope = |id: &Bson| {
        let scope = outliers.scope_of(id.clone());
        scope.ok_or_else(|| Error::new(Kind::Deserialize(id.to_string()), core.parents.name()))
    };
    match problem {
        OutlierProblem::TooLarge { parent, .. } => {
            split::split(core, &scope(parent)?).await?;
        }
        OutlierProblem::NoFlag { parent } => {
            let scope = scope(parent)?;
            let flagged = core.parents.modify(scope.set_flag(), None).await;
            flagged.map_err(|error| core.refused(&scope, error))?;
        }
        OutlierProblem::NoParent { parent, .. } => {
            let scope = scope(parent)?;
            // The id may have been inserted again since the verification.
            if core.state(&scope, true, None).await?.is_none() {
                let deleted = core
                    .extras
                    .server
                    .delete_many(scope.all_extras(), None)
                    .await;
                deleted.map_err(|error| core.refused_many(&scope, error))?;
            }
        }
        OutlierProblem::WrongCount { extras } => {
            let update = count_anew(&T::SPEC);
            let server = &core.extras.server;
            let counted = server
                .update_many(doc! { "_id": extras }, update, None)
                .await;
            counted.map_err(|error| Error::write(error, server.name()))?;
        }
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

/// O4: pages whose count is wrong. Documents without a count are the manual's.
fn wrong_counts(spec: &OutlierSpec) -> Vec<Document> {
    let counted = doc! { "$ne": ["$count", array_length(spec.extra_items)] };
    let above = doc! { "$gt": ["$count", i64::from(spec.extras_capacity)] };
    vec![
        doc! { "$match": { "count": { "$exists": true }, "$expr": { "$or": [counted, above] } } },
        doc! { "$project": { "_id": 1 } },
    ]
}

/// Corrects a page's count. A page that was full, or seemed so, is sealed: there may be an open one.
fn count_anew(spec: &OutlierSpec) -> Vec<Document> {
    vec![doc! { "$set": { "count": array_length(spec.extra_items), SEALED: "$_id" } }]
}

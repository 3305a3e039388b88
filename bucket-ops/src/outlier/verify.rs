//! Verifies what is stored against O1 to O5.

mod extras;
mod parents;
pub(super) mod rows;
mod twins;

use bucket_core::{
    error::{Kind, count},
    schema::{key::KeyField, spec::OutlierSpec},
    server::Server,
    value::shell::{id_of, shell},
};
use bucket_runtime::{
    __ops::{Engine, ExtraItem, ParentHandle},
    Error, Outlier, Outliers, Result,
};
use mongodb::bson::{Bson, doc};

use self::rows::{of_parent, rows};
use super::{command::find_wrong_totals, recount::recount};
use crate::verify::{Problem, ProblemKind, Verifier, exists, verifier};

/// The result of a verification; see [`OutlierOps::verify`](crate::OutlierOps::verify).
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
    pub problems: Vec<Problem>,
}

/// The parent with this stored id; an error if the id does not have the struct's type.
pub(super) fn stored_parent<T: Outlier>(outliers: &Outliers<T>, id: &Bson) -> Result<ParentHandle> {
    let read = T::Id::from_bson(id.clone()).map(|id| outliers.parent(id.borrowed()));
    let unreadable = || Kind::UnreadableParent(shell(id));
    read.ok_or_else(|| (outliers.collections.parents.target()).error(unreadable()))
}

/// The two collections, with indexes that match the struct.
pub(super) struct OutlierVerifier<T> {
    pub(super) outliers: Outliers<T>,
    pub(super) extras: Verifier,
}

impl<T: Outlier> OutlierVerifier<T> {
    /// The spec as a `static`, which promotion alone does not give in generic code.
    const SPEC: &'static OutlierSpec = &T::SPEC;

    /// An error if neither collection exists, or if an index of the extras differs from the struct.
    pub(super) async fn check(parents: Server, extras: Server) -> Result<Self> {
        // The parents' collection exists from its first parent on, that of the extras once it is
        // opened.
        if !exists(&parents).await? && !exists(&extras).await? {
            return Err(parents.target().error(Kind::NoCollection));
        }
        let extras = Verifier {
            // The manual's own extras documents have no count.
            buckets: doc! { "count": { "$exists": true } },
            ..verifier::<ExtraItem<T>>(extras)
        };
        let index = extras.check_indexes().await.map_err(Error::of_extras)?;
        let engine = Engine::new(extras.server.clone(), index);
        let outliers = Outliers::new(parents, engine);
        Ok(Self { outliers, extras })
    }

    pub(super) async fn verify(&self) -> Result<VerifiedOutliers> {
        let mut verified = VerifiedOutliers::default();
        let known = parents::verify(&self.outliers, &mut verified).await?;
        let collections = &self.outliers.collections;
        (verified.problems).extend(extras::find_lonely::<T>(collections).await?);
        verified.problems.extend(self.find_wrong_totals().await?);
        let of_buckets = self.extras.problems().await?.into_iter();
        (verified.problems).extend(of_buckets.map(Problem::in_extras));
        let extras = &self.extras.server;
        (verified.problems).extend(extras::verify_uncounted(&self.outliers).await?);
        let twins = twins::find_in_extras::<T>(extras.target(), &known);
        verified.problems.extend(twins.await?);
        extras::count(extras, Self::SPEC, &mut verified).await?;
        Ok(verified)
    }

    /// Finds wrong totals. Each suspicious parent is counted again in a transaction: an item may
    /// have been pushed between the two collections.
    async fn find_wrong_totals(&self) -> Result<Vec<Problem>> {
        let collections = &self.outliers.collections;
        let Some(total) = Self::SPEC.total else {
            return Ok(Vec::new());
        };
        let extras = collections.extras.server.collection().name();
        let suspicious = find_wrong_totals(Self::SPEC, extras, total);
        let mut problems = Vec::new();
        for row in rows(collections.parents.target(), suspicious).await? {
            let parent = id_of(&row);
            // A parent with a foreign id is another kind of problem.
            let Ok(handle) = stored_parent(&self.outliers, &parent) else {
                continue;
            };
            if let Some((total, items)) = recount(handle, total, false).await? {
                let (total, items) = (shell(&total), count(items, "item"));
                problems.push(of_parent(ProblemKind::WrongTotal, parent, |parent| {
                    format!("the total of parent {parent} is {total}, but it has {items}")
                }));
            }
        }
        Ok(problems)
    }
}

//! A struct that derives `Outlier`.

use std::marker::PhantomData;

use bucket_runtime::action::CreateCollections;
use bucket_runtime::mongodb::Database;
use bucket_runtime::{Outlier, OutlierProblem, RequiredIndex};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::problem::{Problem, ids};
use crate::report::{Report, counted};
use crate::stats;
use crate::target::{Call, Sharding, Target};

pub(crate) struct OutlierTarget<T> {
    name: String,
    parent: PhantomData<fn() -> T>,
}

impl<T> OutlierTarget<T> {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            parent: PhantomData,
        }
    }
}

impl<T: Outlier> Target for OutlierTarget<T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn collections(&self) -> Vec<&'static str> {
        vec![T::SPEC.collection, T::SPEC.extras]
    }

    fn indexes(&self) -> Vec<RequiredIndex> {
        T::indexes()
    }

    fn open<'c>(
        &'c self,
        db: &'c Database,
        create: bool,
    ) -> BoxFuture<'c, bucket_runtime::Result<()>> {
        Box::pin(async move { T::outliers(db).create_indexes(create).await.map(drop) })
    }

    fn verify<'c>(&'c self, db: &'c Database) -> BoxFuture<'c, bucket_runtime::Result<Report>> {
        Box::pin(async move {
            let found = T::verify(db).await?;
            let read = [
                ("parent", found.parents),
                ("extras document", found.extras),
                ("item", found.items),
            ];
            Ok(Report::of_problems(&read, problems(&found.problems)))
        })
    }

    fn repair<'c>(
        &'c self,
        db: &'c Database,
        delete_orphans: bool,
    ) -> BoxFuture<'c, bucket_runtime::Result<Report>> {
        Box::pin(async move {
            let done = T::repair(db).delete_orphans(delete_orphans).await?;
            let mut report = Report::of_repaired(&done.repaired, problems(&done.left));
            if delete_orphans {
                report.value["deleted_items"] = json!(done.deleted_items);
                let deleted = format!("deleted: {}", counted(done.deleted_items, "item"));
                report.lines.push(deleted);
            }
            Ok(report)
        })
    }

    fn stats<'c>(&'c self, db: &'c Database) -> Call<'c> {
        Box::pin(stats::of_outliers(db, const { &T::SPEC }))
    }

    fn create(&self, db: &Database) -> CreateCollections {
        T::create_collections(db)
    }

    fn shard_key(&self, sharding: Sharding) -> String {
        let reference = T::SPEC.reference;
        match sharding {
            Sharding::Hashed => format!("the hash of _id, and of {reference}"),
            _ => format!("_id, and by {reference}"),
        }
    }

    fn advise<'c>(&'c self, db: &'c Database) -> Call<'c> {
        Box::pin(async move {
            let advice = T::advise(db).await?;
            let value = json!({
                "documents": advice.documents,
                "items": advice.items,
                "longest": advice.longest,
                "recommended": advice.recommended,
            });
            Ok(Report::new(advice.to_string(), value))
        })
    }
}

fn problems(problems: &[OutlierProblem]) -> Vec<Problem> {
    let told = problems.iter().map(|problem| Problem {
        kind: problem.kind(),
        ids: ids(problem.ids()),
        key: problem.key(),
        is_repairable: problem.is_repairable(),
        remedy: problem.remedy(),
        text: problem.to_string(),
    });
    told.collect()
}

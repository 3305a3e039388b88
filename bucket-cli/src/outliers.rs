//! A struct that derives `Outlier`.

use std::marker::PhantomData;

use bucket_runtime::mongodb::Database;
use bucket_runtime::{Outlier, RequiredIndex};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::report::Report;
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

    fn verify<'c>(&'c self, db: &'c Database) -> Call<'c> {
        Box::pin(async move {
            let problems = T::verify(db).await?;
            Ok(Report::of_problems(
                problems.iter().map(ToString::to_string),
            ))
        })
    }

    fn repair<'c>(&'c self, db: &'c Database) -> Call<'c> {
        Box::pin(async move {
            let left = T::repair(db).await?;
            Ok(Report::of_problems(left.iter().map(ToString::to_string)))
        })
    }

    fn stats<'c>(&'c self, db: &'c Database) -> Call<'c> {
        Box::pin(stats::of_outliers(db, const { &T::SPEC }))
    }

    fn shard<'c>(&'c self, db: &'c Database, sharding: Sharding) -> Call<'c> {
        Box::pin(async move {
            let create = T::create_collections(db);
            let create = match sharding {
                Sharding::Ranged => create.sharded(),
                Sharding::Hashed => create.sharded_hashed(),
                Sharding::ByWindow => create.sharded_by_window(),
            };
            create.await?;
            T::outliers(db).await?;
            let key = self.shard_key(sharding);
            Ok(Report::new(
                format!("are sharded by {key}"),
                json!({ "sharded_by": key }),
            ))
        })
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

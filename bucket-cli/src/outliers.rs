//! A struct that derives `Outlier`.

use std::marker::PhantomData;

use bucket_runtime::action::CreateCollections;
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

    fn problems<'c>(
        &'c self,
        db: &'c Database,
        repair: bool,
    ) -> BoxFuture<'c, bucket_runtime::Result<Vec<String>>> {
        Box::pin(async move {
            let problems = match repair {
                true => T::repair(db).await?.left,
                false => T::verify(db).await?.problems,
            };
            Ok(problems.iter().map(ToString::to_string).collect())
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

//! `change-capacity` changes a collection to its struct's capacity.

use bucket_advise::__private::capacity;
use bucket_ops::Ops;
use bucket_runtime::Bucket;
use bucket_runtime::bson::Document;
use bucket_runtime::mongodb::error::ErrorKind;
use bucket_runtime::mongodb::{Database, IndexModel};
use clap::Args;
use futures_util::TryStreamExt;
use serde_json::json;

use super::{Failure, Outcome, Site, Verb};
use crate::arguments::{Dry, OneStruct};
use crate::report::Report;

/// The server's code for a collection that does not exist.
const NAMESPACE_NOT_FOUND: i32 = 26;

/// Change a collection to its struct's capacity; programs have to open it again
#[derive(Debug, Args)]
pub(crate) struct ChangeCapacity {
    #[command(flatten)]
    pub(super) structs: OneStruct,
    #[command(flatten)]
    dry: Dry,
}

impl Verb for ChangeCapacity {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        let indexes = indexes::<T>(site.db).await?;
        let (stored, capacity) = (capacity(&indexes), u64::from(T::SPEC.capacity));
        let Dry { dry_run: is_dry } = self.dry;
        if !is_dry {
            Ops::<T>::of(site.db).change_capacity().await?;
        }
        let mut options = indexes.iter().filter_map(|index| index.options.as_ref());
        let is_begun = options.any(|options| options.hidden == Some(true));
        let now = if is_dry { "would be" } else { "is now" };
        let line = match stored {
            Some(stored) if stored != capacity && is_dry => format!(
                "the capacity is {stored}, and would be {capacity}: open buckets would be sealed, and programs would \
                 have to open the collection again"
            ),
            Some(stored) if stored != capacity => format!(
                "the capacity was {stored}, and is now {capacity}: programs have to open the collection again"
            ),
            Some(_) if !is_begun => format!("the capacity is {capacity} already"),
            Some(_) => format!("the capacity {now} {capacity}: the change was interrupted"),
            None => format!("the capacity {now} {capacity}: there was no index"),
        };
        Ok(Report::new(
            line,
            json!({ "stored": stored, "capacity": capacity }),
        ))
    }
}

/// The indexes; none if the collection does not exist.
async fn indexes<T: Bucket>(db: &Database) -> Result<Vec<IndexModel>, Failure> {
    let collection = db.collection::<Document>(T::SPEC.collection);
    match collection.list_indexes().await {
        Ok(indexes) => Ok(indexes.try_collect().await?),
        Err(error) => match &*error.kind {
            ErrorKind::Command(refusal) if refusal.code == NAMESPACE_NOT_FOUND => Ok(Vec::new()),
            _ => Err(error.into()),
        },
    }
}

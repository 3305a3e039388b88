//! `shard` creates or shards the collections.

use std::future::Future;

use bucket_runtime::action::CreateCollections;
use bucket_runtime::{Bucket, Outlier, Result};
use clap::Args;
use serde_json::json;

use super::{Outcome, Site, Verb};
use crate::arguments::{Dry, Structs};
use crate::report::Report;

/// Create or shard the collections, by ranges of the key
#[derive(Debug, Args)]
pub(crate) struct Shard {
    #[command(flatten)]
    pub(super) structs: Structs,
    /// By the hash of the first key field
    #[arg(long, conflicts_with = "by_window")]
    hashed: bool,
    /// By the key and the time window
    #[arg(long)]
    by_window: bool,
    #[command(flatten)]
    dry: Dry,
}

impl Verb for Shard {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        let mut key = T::shard_key();
        if self.hashed {
            if let Some(first) = key.iter_mut().next() {
                *first.1 = "hashed".into();
            }
        } else if self.by_window {
            key.insert(T::SPEC.window, 1);
        }
        let open = async { T::buckets(site.db).await.map(drop) };
        let create = T::create_collection(site.db);
        self.shard(&key.to_string(), create, open).await
    }

    async fn on_outliers<T: Outlier>(&self, site: &Site<'_>) -> Outcome {
        let reference = T::SPEC.reference;
        let key = if self.hashed {
            format!("the hash of _id, and of {reference}")
        } else {
            format!("_id, and by {reference}")
        };
        let open = async { T::outliers(site.db).await.map(drop) };
        let create = T::create_collections(site.db);
        self.shard(&key, create, open).await
    }
}

impl Shard {
    /// Shards the collections, and opens them, which creates their indexes.
    async fn shard(
        &self,
        key: &str,
        create: CreateCollections,
        open: impl Future<Output = Result<()>>,
    ) -> Outcome {
        if self.dry.dry_run {
            let line = format!("would be sharded by {key}");
            return Ok(Report::new(line, json!({ "would_be_sharded_by": key })));
        }
        let create = if self.hashed {
            create.sharded_hashed()
        } else if self.by_window {
            create.sharded_by_window()
        } else {
            create.sharded()
        };
        create.await?;
        open.await?;
        let line = format!("sharded by {key}");
        Ok(Report::new(line, json!({ "sharded_by": key })))
    }
}

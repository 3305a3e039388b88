//! `change-capacity` changes a collection to its struct's capacity.

use bucket_runtime::Bucket;
use bucket_runtime::bson::Document;
use bucket_runtime::mongodb::Database;
use clap::Args;
use serde_json::json;

use super::{Outcome, Site, Verb};
use crate::arguments::{Dry, OneStruct};
use crate::progress::Progress;
use crate::report::{Report, counted};

/// Change a collection to its struct's capacity, while writers go on
#[derive(Debug, Args)]
pub(crate) struct ChangeCapacity {
    #[command(flatten)]
    pub(super) structs: OneStruct,
    /// Rewrite all buckets, so that they are full
    #[arg(long)]
    repack: bool,
    #[command(flatten)]
    dry: Dry,
}

impl Verb for ChangeCapacity {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        if self.dry.dry_run {
            return planned::<T>(site.db).await;
        }
        let progress = Progress::of("buckets");
        let change = T::change_capacity(site.db).repack(self.repack);
        let done = change.on_progress(|at| progress.set(at.seen)).await?;
        let line = format!(
            "{} seen, {} of them replaced by {}",
            counted(done.seen, "bucket"),
            done.replaced,
            done.written
        );
        let left: Vec<_> = done.left.iter().map(ToString::to_string).collect();
        let value = json!({
            "seen": done.seen, "replaced": done.replaced, "written": done.written, "left": left,
        });
        let is_bad = !left.is_empty();
        Ok(Report::new(line, value).with_bad(is_bad, left))
    }
}

async fn planned<T: Bucket>(db: &Database) -> Outcome {
    let buckets = db.collection::<Document>(T::SPEC.collection);
    let buckets = buckets.estimated_document_count().await?;
    let capacity = T::SPEC.capacity;
    let line = format!(
        "{} would change to capacity {capacity}",
        counted(buckets, "bucket")
    );
    let value = json!({ "buckets": buckets, "capacity": capacity });
    Ok(Report::new(line, value))
}

//! `change-capacity` changes a collection to its struct's capacity.

use bucket_runtime::Bucket;
use bucket_runtime::bson::{Document, doc};
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
            return planned::<T>(site.db, self.repack).await;
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

/// Counts the buckets that hold too many items for the capacity, or too few.
async fn planned<T: Bucket>(db: &Database, repack: bool) -> Outcome {
    let collection = db.collection::<Document>(T::SPEC.collection);
    let capacity = T::SPEC.capacity;
    let count = |counts: Document| collection.count_documents(doc! { T::SPEC.count: counts });
    let buckets = count(doc! { "$type": "number" }).await?;
    let above = count(doc! { "$gt": capacity }).await?;
    let below = count(doc! { "$lt": capacity }).await?;
    let mut line = format!(
        "{above} of {} hold more than {capacity} items and would be split",
        counted(buckets, "bucket")
    );
    if repack {
        line +=
            &format!("; {below} hold fewer and would be filled from the next ones of their keys");
    }
    let value = json!({ "buckets": buckets, "above": above, "below": below, "capacity": capacity });
    Ok(Report::new(line, value))
}

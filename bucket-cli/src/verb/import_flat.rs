//! `import-flat` moves a flat collection into buckets.

use bucket_runtime::Bucket;
use bucket_runtime::bson::Document;
use clap::Args;
use serde_json::json;

use super::{Outcome, Site, Verb};
use crate::arguments::{Dry, OneStruct};
use crate::progress::Progress;
use crate::report::{Report, counted};

/// Move a flat collection, one document per item, into buckets
#[derive(Debug, Args)]
pub(crate) struct ImportFlat {
    #[command(flatten)]
    pub(super) structs: OneStruct,
    /// The flat collection, in the same database
    collection: String,
    #[command(flatten)]
    dry: Dry,
}

impl Verb for ImportFlat {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        let flat = site.db.collection::<Document>(&self.collection);
        if self.dry.dry_run {
            let found = flat.estimated_document_count().await?;
            let line = format!(
                "{} of {} would be imported, less those that are in buckets already",
                counted(found, "item"),
                flat.namespace()
            );
            return Ok(Report::new(line, json!({ "found": found })));
        }
        let progress = Progress::of("items");
        let buckets = T::buckets(site.db).await?;
        let import = buckets.import_flat(&flat);
        let import = import.on_progress(|at| progress.set_of(at.stored, at.found));
        let done = import.await?;
        let line = format!("{} in buckets", counted(done.stored, "item"));
        let value = json!({ "found": done.found, "stored": done.stored });
        Ok(Report::new(line, value))
    }
}

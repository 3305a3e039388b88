//! `import-flat` moves a flat collection into buckets.

use bucket_runtime::Bucket;
use bucket_runtime::bson::{Document, doc};
use bucket_runtime::mongodb::{Collection, Database};
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
            return planned::<T>(site.db, &flat).await;
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

async fn planned<T: Bucket>(db: &Database, flat: &Collection<Document>) -> Outcome {
    let (found, stored) = match T::buckets(db).create_indexes(false).await {
        Ok(buckets) => {
            let before = buckets.import_flat(flat).dry_run(true).await?;
            (before.found, before.stored)
        }
        // Nobody has opened the collection, so no import has begun.
        Err(error) if error.is_index_missing() => (flat.count_documents(doc! {}).await?, 0),
        Err(error) => return Err(error.into()),
    };
    // Flat documents may have been removed since.
    let items = counted(found.saturating_sub(stored), "item");
    let mut line = format!("{items} of {} would be imported", flat.namespace());
    if stored > 0 {
        line += &format!("; {stored} are in buckets, from an import that was interrupted");
    }
    Ok(Report::new(
        line,
        json!({ "found": found, "stored": stored }),
    ))
}

//! `import-flat` moves a flat collection into buckets.

use bucket_advise::__private::{Progress, counted, thousands};
use bucket_ops::Ops;
use bucket_runtime::Bucket;
use bucket_runtime::bson::Document;
use clap::Args;
use serde_json::json;

use super::{Outcome, Site, Verb};
use crate::arguments::{Dry, Listed, OneStruct};
use crate::report::Report;

/// How many documents that cannot be read are listed at most.
const MAX_LISTED: usize = 10_000;

/// Move a flat collection, one document per item, into buckets
#[derive(Debug, Args)]
pub(crate) struct ImportFlat {
    #[command(flatten)]
    pub(super) structs: OneStruct,
    /// The flat collection, or a view, in the same database
    collection: String,
    /// List the documents that are not items of the struct, and import all others
    #[arg(long)]
    skip_unreadable: bool,
    #[command(flatten)]
    listed: Listed,
    #[command(flatten)]
    dry: Dry,
}

impl Verb for ImportFlat {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        let flat = site.db.collection::<Document>(&self.collection);
        let is_dry = self.dry.dry_run;
        let (progress, mut listed) = (Progress::of("items"), Vec::new());
        let import = Ops::<T>::of(site.db).import_flat(&flat);
        let mut import = import.on_progress(|at| progress.set_of(at.stored, at.found));
        if is_dry || self.skip_unreadable {
            import = import.skip_unreadable(|error| {
                if listed.len() < MAX_LISTED {
                    listed.push(error.to_string());
                }
            });
        }
        let done = import.dry_run(is_dry).await?;
        if done.found == 0 {
            let missing = format!("{} does not exist, or holds no documents", flat.namespace());
            return Ok(Report::of_nothing(&missing));
        }
        let taken = done.stored + done.left_out + done.unreadable;
        let mut line = match is_dry {
            // Flat documents may have been removed since.
            true => format!(
                "{} of {} would be imported",
                counted(done.found.saturating_sub(taken), "item"),
                flat.namespace()
            ),
            false => {
                let items = counted(done.stored, "item");
                format!("{items} of {} in buckets", flat.namespace())
            }
        };
        for (number, what) in [
            (
                done.stored * u64::from(is_dry),
                "are in buckets, from an import that was interrupted",
            ),
            (done.left_out, "repeat a `unique` value, and are left out"),
            (done.unreadable, "cannot be read"),
        ] {
            if number > 0 {
                line += &format!("; {} {what}", thousands(number));
            }
        }
        let value = json!({
            "found": done.found, "stored": done.stored, "left_out": done.left_out,
            "unreadable": done.unreadable, "listed": listed,
        });
        let listed = self.listed.shorten(listed, done.unreadable);
        Ok(Report::new(line, value).with_bad(done.unreadable > 0, listed))
    }
}

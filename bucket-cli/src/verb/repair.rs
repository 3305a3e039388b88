//! `repair` repairs what needs no guessing.

use bucket_advise::__private::counted;
use bucket_ops::{Ops, OutlierOps};
use bucket_runtime::mongodb::Database;
use bucket_runtime::{Bucket, Outlier, Result};
use clap::Args;
use serde_json::json;

use super::{Outcome, Site, Verb, verify};
use crate::arguments::{Dry, Listed, Structs};
use crate::report::Report;

/// Repair what needs no guessing, and list what is left
#[derive(Debug, Args)]
pub(crate) struct Repair {
    #[command(flatten)]
    pub(super) structs: Structs,
    /// Delete the extras of parents that do not exist, with their items
    #[arg(long)]
    delete_orphans: bool,
    #[command(flatten)]
    listed: Listed,
    #[command(flatten)]
    dry: Dry,
}

impl Verb for Repair {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        verify::known(if self.dry.dry_run {
            let found = verify::buckets::<T>(site.db, &self.listed).await;
            found.map(|found| self.would_repair(found))
        } else {
            self.buckets::<T>(site.db).await
        })
    }

    async fn on_outliers<T: Outlier>(&self, site: &Site<'_>) -> Outcome {
        verify::known(if self.dry.dry_run {
            let found = verify::outliers::<T>(site.db, &self.listed).await;
            found.map(|found| self.would_repair(found))
        } else {
            self.outliers::<T>(site.db).await
        })
    }
}

impl Repair {
    fn would_repair(&self, verify::Found(problems, report): verify::Found) -> Report {
        report.with_dry_repair(&problems, self.delete_orphans)
    }

    async fn buckets<T: Bucket>(&self, db: &Database) -> Result<Report> {
        let done = Ops::<T>::of(db).repair().await?;
        Ok(Report::of_repaired(
            &done.repaired,
            &done.left,
            &self.listed,
        ))
    }

    async fn outliers<T: Outlier>(&self, db: &Database) -> Result<Report> {
        let done = OutlierOps::<T>::of(db)
            .repair()
            .delete_orphans(self.delete_orphans)
            .await?;
        let mut report = Report::of_repaired(&done.repaired, &done.left, &self.listed);
        report.value["refused"] = json!(done.refused);
        let refused = done
            .refused
            .iter()
            .map(|why| format!("not repaired: {why}"));
        report.lines.extend(refused);
        if self.delete_orphans {
            report.value["deleted_items"] = json!(done.deleted_items);
            let deleted = format!("deleted: {}", counted(done.deleted_items, "item"));
            report.lines.push(deleted);
        }
        Ok(report)
    }
}

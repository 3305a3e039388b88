//! `verify` lists problems.

use bucket_ops::{Ops, OutlierOps, Problem};
use bucket_runtime::mongodb::Database;
use bucket_runtime::{Bucket, Outlier, Result};
use clap::Args;

use super::{Outcome, Site, Verb};
use crate::arguments::{Listed, Structs};
use crate::report::Report;

/// List what breaks a guarantee, and what cannot be read
#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(super) structs: Structs,
    #[command(flatten)]
    listed: Listed,
}

impl Verb for Verify {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        known(buckets::<T>(site.db, &self.listed).await.map(Found::report))
    }

    async fn on_outliers<T: Outlier>(&self, site: &Site<'_>) -> Outcome {
        known(
            outliers::<T>(site.db, &self.listed)
                .await
                .map(Found::report),
        )
    }
}

/// The problems of a collection, and the report of them.
pub(super) struct Found(pub(super) Vec<Problem>, pub(super) Report);

impl Found {
    fn new(read: &[(&str, u64)], problems: Vec<Problem>, listed: &Listed) -> Self {
        let report = Report::of_problems(read, &problems, listed);
        Self(problems, report)
    }

    fn report(self) -> Report {
        self.1
    }
}

pub(super) async fn buckets<T: Bucket>(db: &Database, listed: &Listed) -> Result<Found> {
    let found = Ops::<T>::of(db).verify().await?;
    let read = [("bucket", found.buckets), ("item", found.items)];
    Ok(Found::new(&read, found.problems, listed))
}

pub(super) async fn outliers<T: Outlier>(db: &Database, listed: &Listed) -> Result<Found> {
    let found = OutlierOps::<T>::of(db).verify().await?;
    let read = [
        ("parent", found.parents),
        ("extras document", found.extras),
        ("item", found.items),
    ];
    Ok(Found::new(&read, found.problems, listed))
}

/// The report; that a collection does not exist is a problem, too.
pub(super) fn known(report: Result<Report>) -> Outcome {
    match report {
        Err(error) if error.is_collection_missing() => Ok(Report::of_nothing(&error.to_string())),
        report => Ok(report?),
    }
}

//! `indexes` lists, checks or creates indexes.

use bucket_runtime::{Bucket, Outlier, RequiredIndex, Result};
use clap::Args;
use serde_json::json;

use super::{Outcome, Site, Verb};
use crate::arguments::{Dry, Structs};
use crate::report::Report;

/// Print the commands that create the indexes, for MongoDB's shell
#[derive(Debug, Args)]
pub(crate) struct Indexes {
    #[command(flatten)]
    pub(super) structs: Structs,
    /// Only those that are missing
    #[arg(long, conflicts_with = "create")]
    check: bool,
    /// Create those that are missing
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    dry: Dry,
}

impl Verb for Indexes {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        if self.is_list() {
            return Ok(listed(T::indexes()));
        }
        let opened = T::buckets(site.db).create_indexes(self.creates());
        missing(opened.await.map(drop))
    }

    async fn on_outliers<T: Outlier>(&self, site: &Site<'_>) -> Outcome {
        if self.is_list() {
            return Ok(listed(T::indexes()));
        }
        let opened = T::outliers(site.db).create_indexes(self.creates());
        missing(opened.await.map(drop))
    }
}

impl Indexes {
    /// Whether to list all indexes, and ask the server for none.
    fn is_list(&self) -> bool {
        !self.check && !self.create
    }

    fn creates(&self) -> bool {
        self.create && !self.dry.dry_run
    }
}

fn listed(indexes: Vec<RequiredIndex>) -> Report {
    let commands = indexes.into_iter().map(|index| format!("{index};"));
    let commands: Vec<_> = commands.collect();
    let value = json!({ "indexes": commands });
    Report::of_lines(commands, value)
}

/// The indexes that a collection lacks, as opening it has found.
fn missing(opened: Result<()>) -> Outcome {
    match opened {
        Ok(()) => Ok(Report::of_missing(&[])),
        Err(error) if !error.missing_indexes().is_empty() => {
            Ok(Report::of_missing(error.missing_indexes()))
        }
        Err(error) => Err(error.into()),
    }
}

//! A struct that commands work on.

use bucket_runtime::mongodb::Database;
use bucket_runtime::{Bucket, Outlier};
use futures_util::future::BoxFuture;

use crate::verb::{Command, Outcome, Site};

/// A struct that commands work on.
#[derive(Debug)]
pub struct Target {
    name: String,
    collections: Vec<&'static str>,
    run: for<'c> fn(&'c Command, &'c Site<'c>) -> BoxFuture<'c, Outcome>,
}

impl Target {
    /// A struct that derives `Bucket`, by its path.
    pub(crate) fn of_buckets<T: Bucket>(path: &str) -> Self {
        Self {
            name: last_segment(path),
            collections: vec![T::SPEC.collection],
            run: |command, site| Box::pin(command.on_buckets::<T>(site)),
        }
    }

    /// A struct that derives `Outlier`, by its path.
    pub(crate) fn of_outliers<T: Outlier>(path: &str) -> Self {
        Self {
            name: last_segment(path),
            collections: vec![T::SPEC.collection, T::SPEC.extras],
            run: |command, site| Box::pin(command.on_outliers::<T>(site)),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The collections, as text.
    pub(crate) fn collections(&self, db: &Database) -> String {
        format!("{}.{}", db.name(), self.collections.join(", "))
    }

    /// Carries out a command.
    pub(crate) async fn run(&self, command: &Command, db: &Database) -> Outcome {
        let site = Site {
            command: command.name(),
            name: &self.name,
            db,
        };
        (self.run)(command, &site).await
    }
}

/// `my_app :: Trade` is `Trade`.
fn last_segment(path: &str) -> String {
    let last = path.rsplit("::").next();
    last.unwrap_or(path).trim().to_owned()
}

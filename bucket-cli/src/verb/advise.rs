//! `advise` recommends a capacity or a threshold.

use bucket_advise::__private::{annotated, rows};
use bucket_runtime::bson::Document;
use bucket_runtime::{Bucket, Outlier};
use clap::Args;

use super::{Outcome, Site, Verb};
use crate::arguments::Structs;
use crate::report::Report;

/// Recommend a capacity for buckets, a threshold for outliers
#[derive(Debug, Args)]
pub(crate) struct Advise {
    #[command(flatten)]
    pub(super) structs: Structs,
}

impl Verb for Advise {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        let spec = const { &T::SPEC };
        let collection = site.db.collection::<Document>(spec.collection);
        let counted = rows(&collection, annotated::stages(spec)).await?;
        let disordered = match annotated::order_stages(spec) {
            None => None,
            // Without a row there are none.
            Some(stages) => Some(rows(&collection, stages).await?.pop().unwrap_or_default()),
        };
        let (lines, value) = annotated::report(spec, site.name, &counted, disordered.as_ref());
        Ok(Report::of_lines(lines, value))
    }

    async fn on_outliers<T: Outlier>(&self, site: &Site<'_>) -> Outcome {
        let spec = const { &T::SPEC };
        let parents = site.db.collection(spec.collection);
        let counted = rows(&parents, annotated::length_stages(spec)).await?;
        let (lines, value) = annotated::threshold_report(&counted);
        Ok(Report::of_lines(lines, value))
    }
}

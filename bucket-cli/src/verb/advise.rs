//! `advise` recommends a threshold.

use bucket_runtime::Outlier;
use clap::Args;
use serde_json::json;

use super::{Outcome, Site, Verb};
use crate::arguments::Structs;
use crate::report::Report;

/// Recommend a threshold for outliers
#[derive(Debug, Args)]
pub(crate) struct Advise {
    #[command(flatten)]
    pub(super) structs: Structs,
}

impl Verb for Advise {
    async fn on_outliers<T: Outlier>(&self, site: &Site<'_>) -> Outcome {
        let advice = T::advise(site.db).await?;
        let value = json!({
            "documents": advice.documents,
            "items": advice.items,
            "longest": advice.longest,
            "recommended": advice.recommended,
        });
        Ok(Report::new(advice.to_string(), value))
    }
}

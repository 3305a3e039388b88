use bucket_runtime::bson::DateTime;
use bucket_runtime::Bucket;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "ledgers",
    id = "{account}_{at/6h}",
    capacity = 20,
    expire_after = "90d",
    rollup = "totals"
)]
pub struct Ledger {
    #[bucket(index)]
    pub account: String,
    pub at: DateTime,
    #[bucket(unique)]
    pub number: String,
    // no other texts were seen; with others in store, take `String` for `Shop`
    #[bucket(index)]
    pub shop: Shop,
    #[bucket(sum, min, max)]
    pub cents: i64,
    #[bucket(max)]
    pub grams: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Shop {
    #[serde(rename = "shop 0")]
    Shop0,
    #[serde(rename = "shop 1")]
    Shop1,
    #[serde(rename = "shop 2")]
    Shop2,
    #[serde(rename = "shop 3")]
    Shop3,
    #[serde(rename = "shop 4")]
    Shop4,
    #[serde(rename = "shop 5")]
    Shop5,
    #[serde(rename = "shop 6")]
    Shop6,
}

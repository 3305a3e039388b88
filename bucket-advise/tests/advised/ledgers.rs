use bucket_runtime::bson::DateTime;
use bucket_runtime::{Bucket, Fields};
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
    #[bucket(index(house_number))]
    pub place: Place,
    #[bucket(index)]
    pub shop: String,
    #[bucket(sum, min, max)]
    pub cents: i64,
    #[bucket(max)]
    pub grams: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
pub struct Place {
    pub city: String,
    #[serde(rename = "houseNumber")]
    pub house_number: i32,
}

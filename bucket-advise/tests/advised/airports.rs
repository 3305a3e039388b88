use bucket_runtime::bson::DateTime;
use bucket_runtime::{Fields, Outlier};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "airports", reference = "airport_id", threshold = 300)]
pub struct Airport {
    #[serde(rename = "_id")]
    pub id: String,
    pub name: String,
    pub city: String,
    #[outlier(items)]
    pub departures: Vec<Departure>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
pub struct Departure {
    pub date: DateTime,
    pub to: String,
    pub delay: i32,
}

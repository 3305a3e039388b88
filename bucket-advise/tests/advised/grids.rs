use bucket_runtime::bson::Bson;
use bucket_runtime::Outlier;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "grids", reference = "grid_id", threshold = 10)]
pub struct Grid {
    #[serde(rename = "_id")]
    pub id: i64,
    #[outlier(items)]
    pub rows: Vec<Vec<i32>>,
    pub deep: Vec<Vec<Vec<Vec<Vec<Bson>>>>>,
}

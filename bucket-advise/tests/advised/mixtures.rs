use bucket_runtime::bson::{Bson, DateTime};
use bucket_runtime::{Bucket, Fields};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "mixtures_buckets", id = "{user}_{at}", capacity = 100)]
pub struct Mixture {
    pub user: String,
    pub at: DateTime,
    // int in 25 %, string in 25 %, array in 25 %, object in 25 %: `Bson` reads all of them
    pub anything: Bson,
    // int in 50 %, double in 50 %: `f64` reads all of them
    pub number: f64,
    pub whole: i64,
    // only null, or nothing, was seen here
    pub nothing: Option<Bson>,
    // only null, or nothing, was seen here
    pub none: Vec<Bson>,
    pub maybe: Vec<Option<i32>>,
    pub matrix: Vec<Vec<i32>>,
    pub pairs: Vec<Pair>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
pub struct Pair {
    pub a: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

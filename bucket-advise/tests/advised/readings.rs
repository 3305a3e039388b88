use bucket_runtime::bson::DateTime;
use bucket_runtime::Bucket;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "readings_buckets", id = "{sensor}_{ts}", capacity = 500)]
pub struct Reading {
    pub sensor: String,
    pub ts: DateTime,
    pub celsius: f64,
    pub humidity: i32,
    pub is_raining: bool,
}

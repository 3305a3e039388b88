use bucket_runtime::bson::DateTime;
use bucket_runtime::Bucket;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "flights_buckets", id = "{origin}_{date}", capacity = 100)]
pub struct Flight {
    pub date: DateTime,
    pub origin: String,
    pub destination: String,
    pub delay: i32,
    pub distance: i32,
}

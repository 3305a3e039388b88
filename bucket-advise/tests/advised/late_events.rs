use bucket_runtime::bson::DateTime;
use bucket_runtime::Bucket;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "late_events_buckets", id = "{device}_{time/6h}", capacity = 70)]
pub struct LateEvent {
    pub device: String,
    pub time: DateTime,
    pub message: String,
}

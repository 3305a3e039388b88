use bucket_runtime::bson::DateTime;
use bucket_runtime::Bucket;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "quarters", id = "{room}_{at/15m}", capacity = 12)]
pub struct Quarter {
    pub room: String,
    pub at: DateTime,
    pub celsius: f64,
}

use bucket_runtime::bson::DateTime;
use bucket_runtime::Bucket;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "machines_log", id = "{machine_id}_{at}", capacity = 100)]
pub struct Log {
    pub machine_id: String,
    pub at: DateTime,
    // no other texts were seen; with others in store, take `String` for `Level`
    pub level: Level,
    pub line: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Info,
    Warn,
}

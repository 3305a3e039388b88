use bucket_runtime::bson::DateTime;
use bucket_runtime::Bucket;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "quotes_buckets", id = "{exchange}_{symbol}_{date}", capacity = 20)]
pub struct Quote {
    pub exchange: String,
    pub symbol: String,
    pub date: DateTime,
    pub note: String,
    // the documents' own `_id` is left out; copy it to another field before, if it means something
}

use bucket_runtime::bson::{Binary, Bson, DateTime, Decimal128, Timestamp, Uuid, oid::ObjectId};
use bucket_runtime::Bucket;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "types_buckets", id = "{account}_{booked}", capacity = 20)]
pub struct Type {
    pub account: Uuid,
    pub booked: DateTime,
    pub amount: Decimal128,
    pub scan: Binary,
    pub stamp: Timestamp,
    pub of: ObjectId,
    // only null, or nothing, was seen here
    pub state: Option<Bson>,
}

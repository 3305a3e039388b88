use bucket_runtime::bson::oid::ObjectId;
use bucket_runtime::Bucket;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "pages", id = "{book}_{#}", capacity = 25)]
pub struct Page {
    pub book: ObjectId,
    pub line: String,
}

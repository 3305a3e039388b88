use bucket_runtime::bson::oid::ObjectId;
use bucket_runtime::Bucket;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "notes_buckets", id = "{topic_id}_{#}", capacity = 100)]
pub struct Note {
    pub topic_id: ObjectId,
    pub text: String,
}

use bucket_runtime::bson::{DateTime, oid::ObjectId};
use bucket_runtime::{Fields, Outlier};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[serde(rename_all = "camelCase")]
#[outlier(collection = "posts", reference = "post_id", threshold = 10)]
pub struct Post {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub title: String,
    pub posted_at: DateTime,
    pub view_count: i32,
    #[serde(default)]
    #[outlier(items)]
    pub comments: Vec<Comment>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    pub user_name: String,
    pub text: String,
    pub sent_at: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

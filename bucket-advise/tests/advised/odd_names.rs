use bucket_runtime::bson::{DateTime, Document};
use bucket_runtime::{Bucket, Fields};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "odd_names_buckets", id = "{type}_{when}", capacity = 50)]
pub struct OddName {
    pub r#type: String,
    pub when: DateTime,
    #[serde(rename = "self")]
    pub self_: String,
    #[serde(rename = "2nd")]
    pub field_2nd: i32,
    #[serde(rename = "with space")]
    pub with_space: bool,
    pub größe: f64,
    #[serde(rename = "withSpace")]
    pub with_space_2: bool,
    #[serde(rename = "日本")]
    pub field: String,
    // a name such as `a.b` is data: `Document` reads any
    pub map: Document,
    pub items: i32,
    pub count: String,
    #[serde(rename = "Document")]
    pub document: DocumentValue,
    // a field named "$price" is left out: in updates and paths, the name has another meaning
    // a field named "a.b" is left out: in updates and paths, the name has another meaning
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
pub struct DocumentValue {
    pub r#fn: i32,
}

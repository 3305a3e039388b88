use bucket_runtime::bson::DateTime;
use bucket_runtime::Bucket;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10, items = "history")]
pub struct Trade {
    #[serde(rename = "customerId")]
    pub customer_id: i64,
    pub date: DateTime,
    pub ticker: String,
    // no other texts were seen; with others in store, take `String` for `Type`
    pub r#type: Type,
    pub qty: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    Buy,
    Sell,
}

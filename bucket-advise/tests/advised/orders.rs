use bucket_runtime::bson::DateTime;
use bucket_runtime::{Bucket, Fields};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "orders_buckets", id = "{customer_id}_{created_at}", capacity = 100)]
pub struct Order {
    pub customer_id: i64,
    pub created_at: DateTime,
    // no other texts were seen; with others in store, take `String` for `Status`
    pub status: Status,
    pub ship_to: ShipTo,
    pub lines: Vec<Line>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coupon_code: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Status {
    #[serde(rename = "open")]
    Open,
    #[serde(rename = "paid")]
    Paid,
    #[serde(rename = "sent back")]
    SentBack,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
pub struct ShipTo {
    pub city: String,
    #[serde(rename = "zipCode")]
    pub zip_code: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
pub struct Line {
    pub sku: String,
    #[serde(rename = "unitPrice")]
    pub unit_price: f64,
}

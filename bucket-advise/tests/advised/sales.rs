use bucket_runtime::Outlier;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "sales", reference = "sale_id", threshold = 50)]
pub struct Sale {
    #[serde(rename = "_id")]
    pub id: i64,
    pub title: String,
    pub year: i32,
    pub author: String,
    #[outlier(items)]
    pub customers_purchased: Vec<String>,
}

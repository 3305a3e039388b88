use bucket_runtime::bson::{DateTime, Document};
use bucket_runtime::Bucket;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "wide_buckets", id = "{host}_{at}", capacity = 100)]
pub struct Wide {
    pub host: String,
    pub at: DateTime,
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_741: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_63: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_638: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_257: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_636: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_276: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_18: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_277: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_190: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_9: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_323: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_555: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_779: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_329: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_500: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_556: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_213: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_855: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_408: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_730: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_969: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_536: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_631: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_360: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_539: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_148: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_977: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_680: Option<f64>,
    // all other fields, whose names may be data
    #[serde(flatten)]
    pub others: Document,
}

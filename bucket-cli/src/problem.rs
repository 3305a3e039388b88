//! A problem, as both patterns have it.

use bucket_runtime::bson::Bson;
use bucket_runtime::{BucketProblem, OutlierProblem};
use serde_json::{Value, json};

/// A problem, as both patterns have it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) kind: &'static str,
    /// The documents that it concerns, as extended JSON.
    pub(crate) ids: Vec<Value>,
    pub(crate) key: Option<String>,
    pub(crate) is_repairable: bool,
    pub(crate) remedy: String,
    pub(crate) text: String,
}

impl Problem {
    pub(crate) fn of_buckets(problem: &BucketProblem) -> Self {
        Self {
            kind: problem.kind(),
            ids: ids(problem.ids()),
            key: problem.key().map(str::to_owned),
            is_repairable: problem.is_repairable(),
            remedy: problem.remedy(),
            text: problem.to_string(),
        }
    }

    pub(crate) fn of_outliers(problem: &OutlierProblem) -> Self {
        Self {
            kind: problem.kind(),
            ids: ids(problem.ids()),
            key: problem.key(),
            is_repairable: problem.is_repairable(),
            remedy: problem.remedy(),
            text: problem.to_string(),
        }
    }

    pub(crate) fn value(&self) -> Value {
        json!({
            "kind": self.kind,
            "ids": self.ids,
            "key": self.key,
            "repairable": self.is_repairable,
            "remedy": self.remedy,
            "text": self.text,
        })
    }
}

/// Ids as extended JSON.
fn ids(ids: &[Bson]) -> Vec<Value> {
    let as_json = |id| serde_json::to_value(id).unwrap_or(Value::Null);
    ids.iter().map(as_json).collect()
}

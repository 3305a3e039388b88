//! The visits of a page, for the tests that make every call.

use bucket_runtime::{Bucket, mongodb::bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucket)]
#[bucket(collection = "visits", id = "{page}_{at/1h}", capacity = 2)]
pub(crate) struct Visit {
    pub(crate) page: i64,
    pub(crate) at: DateTime,
    #[bucket(unique)]
    pub(crate) visitor: i64,
    #[bucket(sum)]
    pub(crate) seconds: i64,
}

/// The visits in another collection.
#[derive(Debug, Bucket)]
#[bucket(collection = "moved", id = "{page}_{#}", capacity = 3)]
pub(crate) struct Moved {
    pub(crate) page: i64,
    pub(crate) seconds: i64,
}

impl From<Visit> for Moved {
    fn from(visit: Visit) -> Self {
        Self {
            page: visit.page,
            seconds: visit.seconds,
        }
    }
}

/// A visit of the first page, in the visitor's minute.
pub(crate) fn visit(visitor: i64) -> Visit {
    Visit {
        page: 1,
        at: DateTime::from_millis(visitor * 60_000),
        visitor,
        seconds: 10,
    }
}

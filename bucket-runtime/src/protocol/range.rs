//! The options of a find besides its filter.

use mongodb::bson::{Document, doc};

/// The options of a find besides its filter.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    pub(crate) sort: Option<Document>,
    pub(crate) projection: Option<Document>,
    pub(crate) skip: u64,
    pub(crate) limit: Option<i64>,
    /// How many documents an answer holds at most, if not as many as the server likes.
    pub(crate) batch_size: Option<u32>,
}

impl Range {
    /// All documents in the order of their ids.
    pub(crate) fn oldest_first() -> Self {
        Self {
            sort: Some(doc! { "_id": 1 }),
            ..Self::unordered()
        }
    }

    /// All documents in the reverse order of their ids.
    pub(crate) fn newest_first() -> Self {
        Self {
            sort: Some(doc! { "_id": -1 }),
            ..Self::unordered()
        }
    }

    /// The documents with these fields alone.
    pub(crate) fn project(self, projection: Document) -> Self {
        Self {
            projection: Some(projection),
            ..self
        }
    }

    /// All documents, in no order.
    pub(crate) fn unordered() -> Self {
        Self {
            sort: None,
            projection: None,
            skip: 0,
            limit: None,
            batch_size: None,
        }
    }
}

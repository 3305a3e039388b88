//! The options of a find besides its filter.

use mongodb::bson::{Document, doc};

/// The options of a find besides its filter.
#[derive(Debug, Clone, Default)]
pub struct Range {
    pub sort: Option<Document>,
    pub projection: Option<Document>,
    pub skip: u64,
    pub limit: Option<i64>,
    /// How many documents an answer holds at most, if not as many as the server likes.
    pub batch_size: Option<u32>,
}

impl Range {
    /// All documents in the order of their ids.
    pub fn oldest_first() -> Self {
        Self {
            sort: Some(doc! { "_id": 1 }),
            ..Self::unordered()
        }
    }

    /// All documents in the reverse order of their ids.
    pub fn newest_first() -> Self {
        Self {
            sort: Some(doc! { "_id": -1 }),
            ..Self::unordered()
        }
    }

    /// The documents with these fields alone.
    pub fn project(self, projection: Document) -> Self {
        Self {
            projection: Some(projection),
            ..self
        }
    }

    /// All documents, in no order.
    pub fn unordered() -> Self {
        Self::default()
    }
}

//! Analyses a collection to choose the threshold.

pub(super) mod advice;
pub(super) mod lengths;
pub(super) mod rule;

use mongodb::{
    Collection,
    bson::{Document, doc},
};

use self::{advice::Advice, lengths::LengthGroup};
use crate::{
    Result,
    outlier::{command::array_length, parent_handle::number},
    server::Server,
};

/// Builder of an analysis: await it; see [`Outlier::advise`](crate::Outlier::advise).
#[must_use = "nothing is analysed until this is awaited"]
pub struct Advise {
    server: Server,
    array: &'static str,
}

impl Advise {
    pub(crate) fn new(parents: Collection<Document>, array: &'static str) -> Self {
        Self {
            server: Server::new(parents),
            array,
        }
    }

    pub(crate) async fn execute(self) -> Result<Advice> {
        let lengths = count_lengths(self.array);
        let lengths = self.server.target().pipeline(lengths);
        let lengths: Vec<Document> = lengths.rows(None).await?;
        let groups = lengths.iter().map(|group| LengthGroup {
            length: number(group, "_id"),
            documents: number(group, "documents"),
            bytes: number(group, "bytes"),
        });
        Ok(Advice::of(groups))
    }
}

/// Counts the documents whose arrays have each length, and their bytes; the server does the counting.
fn count_lengths(array: &str) -> Vec<Document> {
    vec![
        doc! { "$project": { "length": array_length(array), "bytes": { "$bsonSize": "$$ROOT" } } },
        doc! { "$group": {
            "_id": "$length", "documents": { "$sum": 1 }, "bytes": { "$sum": "$bytes" },
        } },
        doc! { "$sort": { "_id": 1 } },
    ]
}

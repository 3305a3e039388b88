//! Analyses a collection to choose the threshold.

use mongodb::{
    Collection,
    bson::{Document, doc},
};

use super::{
    advice::{Advice, Group},
    command::array_length,
};
use crate::{Result, server::Server, value::element::whole};

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
        let lengths = self
            .server
            .aggregate::<Document>(lengths(self.array), None)
            .await;
        let lengths = lengths.map_err(|error| self.server.target().read_error(error))?;
        let number = |document: &Document, name| {
            let number = document.get(name).and_then(whole).unwrap_or(0);
            u64::try_from(number).unwrap_or(0)
        };
        let groups = lengths.iter().map(|group| Group {
            length: number(group, "_id"),
            documents: number(group, "documents"),
            bytes: number(group, "bytes"),
        });
        Ok(Advice::of(groups.collect()))
    }
}

/// How many documents have an array of each length, and their bytes; the server does the counting.
fn lengths(array: &str) -> Vec<Document> {
    vec![
        doc! { "$project": { "length": array_length(array), "bytes": { "$bsonSize": "$$ROOT" } } },
        doc! { "$group": {
            "_id": "$length", "documents": { "$sum": 1 }, "bytes": { "$sum": "$bytes" },
        } },
        doc! { "$sort": { "_id": 1 } },
    ]
}

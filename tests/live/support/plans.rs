//! The keys and documents that the server examines for a command.

use bucket_runtime::mongodb::{
    Database,
    bson::{Bson, Document},
};

use crate::support::database::{Record, explain, number};

/// The numbers of keys and documents that a command made the server examine.
#[derive(Debug, PartialEq)]
pub(crate) struct Examined {
    pub(crate) keys: i64,
    pub(crate) documents: i64,
}

/// The commands since the last call, each with what it examined.
pub(crate) async fn examined(db: &Database, record: &Record) -> Vec<Examined> {
    let mut all = Vec::new();
    for command in record.take() {
        let explained = explain(db, command).await;
        all.push(examined_by(&explained));
    }
    all
}

/// The numbers for an explained command, on all shards that it was sent to.
pub(crate) fn examined_by(explained: &Document) -> Examined {
    let by_shard = explained.get_document("shards");
    let by_shard = by_shard.map_or(vec![explained], |shards| {
        let shards = shards.values().filter_map(Bson::as_document);
        shards.collect()
    });
    let stats: Vec<_> = by_shard
        .into_iter()
        .map(|one| stats(one).unwrap())
        .collect();
    let sum = |name| stats.iter().map(|stats| number(stats.get(name))).sum();
    Examined {
        keys: sum("totalKeysExamined"),
        documents: sum("totalDocsExamined"),
    }
}

/// `executionStats`, which is at the top level or below a pipeline's first stage.
pub(crate) fn stats(explained: &Document) -> Option<&Document> {
    if let Ok(stats) = explained.get_document("executionStats") {
        return Some(stats);
    }
    let stages = explained.get_array("stages").ok()?;
    let cursor = stages
        .first()?
        .as_document()?
        .get_document("$cursor")
        .ok()?;
    cursor.get_document("executionStats").ok()
}

pub(crate) fn examines(keys: i64, documents: i64) -> Examined {
    Examined { keys, documents }
}

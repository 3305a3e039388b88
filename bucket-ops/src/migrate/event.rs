//! The change that an event of the change stream means for a migration.

use bucket_core::{schema::spec::BucketSpec, server::watch::Event, value::number::whole};
use bucket_runtime::__ops::{AppendMarks, appended};
use mongodb::bson::{Bson, Document};

/// A change of the old collection, or of the migration's record, as an event of the change stream
/// shows it.
#[derive(Debug, PartialEq)]
pub(super) enum Change {
    Appended(AppendedElements),
    /// Items of the bucket with this id were edited or removed.
    Edited(String),
    /// The record says that the chunk with this number is stored.
    ChunkStored(i64),
    /// The collection was dropped or renamed.
    Gone,
    /// Nothing that concerns a migration.
    Nothing,
}

/// Items that were appended to a bucket.
#[derive(Debug, PartialEq)]
pub(super) struct AppendedElements {
    /// The bucket's id.
    pub(super) bucket: String,
    /// The inserted bucket, if the items opened one.
    pub(super) inserted: Option<Document>,
    /// The index of the first appended item in the bucket's array.
    pub(super) first: usize,
    pub(super) elements: Vec<Bson>,
}

impl Change {
    /// Reads an event of the old collection or of the migration's record.
    pub(super) fn read(spec: &BucketSpec, collection: &str, event: &Event) -> Self {
        match event.operation() {
            "dropDatabase" | "invalidate" => return Self::Gone,
            _ if event.collection() != Some(collection) => return Self::read_record(event),
            "drop" | "rename" => return Self::Gone,
            _ => {}
        }
        // Documents with other ids are not buckets.
        let Bson::String(bucket) = event.document_id() else {
            return Self::Nothing;
        };
        match event.operation() {
            "insert" | "update" => {}
            "replace" | "delete" => return Self::Edited(bucket),
            _ => return Self::Nothing,
        }
        let is_edited = edits_items(spec, event);
        let (first, elements) = appended(AppendMarks::of_buckets(spec), event);
        match (elements.is_empty(), is_edited) {
            (false, _) => Self::Appended(AppendedElements {
                bucket,
                inserted: event.inserted().cloned(),
                first,
                elements,
            }),
            (true, true) => Self::Edited(bucket),
            (true, false) => Self::Nothing,
        }
    }

    fn read_record(event: &Event) -> Self {
        let updated = event.updated();
        let chunk = updated.and_then(|updated| whole(updated.get("chunk")?));
        chunk.map_or(Self::Nothing, Self::ChunkStored)
    }
}

/// Whether an update changes the array of items in any way.
fn edits_items(spec: &BucketSpec, event: &Event) -> bool {
    let is_in = |path: &str| {
        let rest = path.strip_prefix(spec.items);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut updated = event.updated().into_iter().flat_map(Document::keys);
    event.has_cut() || updated.any(|path| is_in(path)) || event.removed().any(is_in)
}

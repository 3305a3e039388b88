//! The change that an event of the change stream means for a migration.

use bucket_core::{schema::spec::BucketSpec, value::number::whole};
use bucket_runtime::__ops::{AppendMarks, appended, document_id};
use mongodb::{
    bson::{Bson, Document},
    change_stream::event::{ChangeStreamEvent, OperationType},
};

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
    pub(super) fn read(
        spec: &BucketSpec,
        collection: &str,
        event: ChangeStreamEvent<Document>,
    ) -> Self {
        let namespace = event.ns.as_ref().and_then(|ns| ns.coll.as_deref());
        match event.operation_type {
            OperationType::DropDatabase | OperationType::Invalidate => return Self::Gone,
            _ if namespace != Some(collection) => return Self::read_record(&event),
            OperationType::Drop | OperationType::Rename => return Self::Gone,
            _ => {}
        }
        // Documents with other ids are not buckets.
        let Bson::String(bucket) = document_id(&event) else {
            return Self::Nothing;
        };
        match event.operation_type {
            OperationType::Insert | OperationType::Update => {}
            OperationType::Replace | OperationType::Delete => return Self::Edited(bucket),
            _ => return Self::Nothing,
        }
        let is_edited = edits_items(spec, &event);
        let inserted = event.full_document.clone();
        let (first, elements) = appended(AppendMarks::of_buckets(spec), event);
        match (elements.is_empty(), is_edited) {
            (false, _) => Self::Appended(AppendedElements {
                bucket,
                inserted,
                first,
                elements,
            }),
            (true, true) => Self::Edited(bucket),
            (true, false) => Self::Nothing,
        }
    }

    fn read_record(event: &ChangeStreamEvent<Document>) -> Self {
        let update = event.update_description.as_ref();
        let chunk = update.and_then(|update| whole(update.updated_fields.get("chunk")?));
        chunk.map_or(Self::Nothing, Self::ChunkStored)
    }
}

/// Whether an update changes the array of items in any way.
fn edits_items(spec: &BucketSpec, event: &ChangeStreamEvent<Document>) -> bool {
    event.update_description.as_ref().is_some_and(|update| {
        let is_cut = (update.truncated_arrays.as_ref()).is_some_and(|arrays| !arrays.is_empty());
        let is_in = |path: &String| {
            let rest = path.strip_prefix(spec.items);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        is_cut || update.updated_fields.keys().any(is_in) || update.removed_fields.iter().any(is_in)
    })
}

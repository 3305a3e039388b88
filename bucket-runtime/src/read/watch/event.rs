//! Which new items an event of the server contains.

use mongodb::{
    bson::{Bson, Document},
    change_stream::event::{ChangeStreamEvent, OperationType},
};

use crate::schema::spec::BucketSpec;

/// The items that an event appended to a bucket, in order; none if it did something else.
///
/// An append is either an insert, or an update that changes the count and sets elements of the array. An
/// edit does not change the count. A removal shortens the array; the event shows it as the whole array,
/// as a truncation, or as the whole document (`replace`), depending on which is the shortest. The event
/// of the first append to an emptied bucket shows the whole array, too: of these two, only the append
/// leaves a 64-bit count, since a removal that leaves nothing writes one.
pub(super) fn appended(spec: &BucketSpec, event: ChangeStreamEvent<Document>) -> Vec<Bson> {
    match event.operation_type {
        OperationType::Insert => {
            let bucket = event.full_document.unwrap_or_default();
            array(bucket, spec.items)
        }
        OperationType::Update => {
            let Some(update) = event.update_description else {
                return Vec::new();
            };
            let is_cut = !update.truncated_arrays.unwrap_or_default().is_empty();
            let updated = update.updated_fields;
            match updated.get(spec.count) {
                None => Vec::new(),
                Some(_) if is_cut => Vec::new(),
                Some(Bson::Int64(_)) if updated.contains_key(spec.items) => {
                    array(updated, spec.items)
                }
                Some(_) => places(updated, spec.items),
            }
        }
        _ => Vec::new(),
    }
}

fn array(mut document: Document, name: &str) -> Vec<Bson> {
    match document.remove(name) {
        Some(Bson::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// The values that were set at `items.7`, `items.8` …
fn places(updated: Document, name: &str) -> Vec<Bson> {
    let place = |path: &str| -> Option<u64> {
        let place = path.strip_prefix(name)?.strip_prefix('.')?;
        place.parse().ok()
    };
    let updated = updated.into_iter();
    let mut places = Vec::from_iter(updated.filter_map(|(path, item)| Some((place(&path)?, item))));
    places.sort_unstable_by_key(|(place, _)| *place);
    places.into_iter().map(|(_, item)| item).collect()
}

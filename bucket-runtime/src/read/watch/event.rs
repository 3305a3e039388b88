//! Which new items an event of the server contains.
//!
//! A change stream shows how a document changed, and not which command changed it. An
//! append changes `count` and sets places of the array (`items.7`), an edit leaves the count, and a removal
//! shows a truncation, the whole array, or the whole document. The first append to an emptied bucket shows the
//! whole array, too. So a removal that empties a bucket writes a 64-bit `count`, which the append keeps; every
//! other removal writes a 32-bit one. `tests/live/server_claims/watch.rs` proves this.

use mongodb::{
    bson::{Bson, Document},
    change_stream::event::{ChangeStreamEvent, OperationType},
};

use crate::{
    Bucket, Result,
    error::Kind,
    schema::spec::BucketSpec,
    server::target::Target,
    value::{bytes, shell::shell, stored_bucket::StoredBucket},
};

/// The items that an event appended to a bucket, in order, and the index of the first of them in the
/// array; none if it did something else.
///
/// An append is either an insert, or an update that changes the count and sets elements of the array. An
/// edit does not change the count. A removal shortens the array; the event shows it as the whole array,
/// as a truncation, or as the whole document (`replace`), depending on which is the shortest. The event
/// of the first append to an emptied bucket shows the whole array, too: of these two, only the append
/// leaves a 64-bit count, since a removal that leaves nothing writes one.
pub(crate) fn appended(
    spec: &BucketSpec,
    event: ChangeStreamEvent<Document>,
) -> (usize, Vec<Bson>) {
    match event.operation_type {
        OperationType::Insert => {
            let bucket = event.full_document.unwrap_or_default();
            (0, take_array(bucket, spec.items))
        }
        OperationType::Update => {
            let Some(update) = event.update_description else {
                return (0, Vec::new());
            };
            let is_cut = !update.truncated_arrays.unwrap_or_default().is_empty();
            let updated = update.updated_fields;
            match updated.get(spec.count) {
                None => (0, Vec::new()),
                Some(_) if is_cut => (0, Vec::new()),
                Some(Bson::Int64(_)) if updated.contains_key(spec.items) => {
                    (0, take_array(updated, spec.items))
                }
                Some(_) => set_elements(updated, spec.items),
            }
        }
        _ => (0, Vec::new()),
    }
}

/// A bucket that holds just these elements; `bucket` has its other fields.
pub(crate) fn bucket<T: Bucket>(
    target: Target<'_>,
    mut bucket: Document,
    elements: Vec<Bson>,
) -> Result<StoredBucket<T>> {
    bucket.insert(T::SPEC.items, elements);
    let unreadable = || {
        let id = bucket.get("_id").unwrap_or(&Bson::Null);
        target.error(Kind::Deserialize(shell(id)))
    };
    let bytes = bytes::write(&bucket).map_err(|error| unreadable().with_source(error))?;
    bytes::read(&bytes).map_err(|error| unreadable().with_driver(error))
}

fn take_array(mut document: Document, name: &str) -> Vec<Bson> {
    match document.remove(name) {
        Some(Bson::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// The values that an update set at `items.7`, `items.8` …, and the index of the first.
fn set_elements(updated: Document, name: &str) -> (usize, Vec<Bson>) {
    let index = |path: &str| -> Option<usize> {
        let index = path.strip_prefix(name)?.strip_prefix('.')?;
        index.parse().ok()
    };
    let updated = updated.into_iter();
    let mut set = Vec::from_iter(updated.filter_map(|(path, item)| Some((index(&path)?, item))));
    set.sort_unstable_by_key(|(index, _)| *index);
    let first = set.first().map_or(0, |(index, _)| *index);
    (first, set.into_iter().map(|(_, item)| item).collect())
}

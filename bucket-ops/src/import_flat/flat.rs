//! Reads the flat collection, in the order of the buckets.

use bucket_core::{schema::spec::BucketSpec, server::Server};
use mongodb::bson::{Bson, Document, doc};
use serde::Deserialize;

/// A flat document.
#[derive(Deserialize)]
pub(super) struct FlatItem<E> {
    /// The values of the key fields.
    pub(super) key: Vec<Bson>,
    /// The fields of the element: all but the key.
    pub(super) element: E,
}

/// The fields by which the flat documents are sorted, and the direction of each.
pub(super) fn order(spec: &BucketSpec, within_key: Option<Document>) -> Document {
    let mut order: Document = (spec.key.iter())
        .map(|key| (key.name.to_owned(), Bson::Int32(1)))
        .collect();
    let time = spec.time.map(|time| doc! { time: 1 }).unwrap_or_default();
    let within_key = match (within_key, spec.window_name()) {
        (None, _) => time,
        (Some(fields), None) => fields,
        // The items of a window follow each other.
        (Some(fields), Some(_)) => time.into_iter().chain(fields).collect(),
    };
    for (name, direction) in within_key {
        order.entry(name).or_insert(direction);
    }
    order.entry("_id".to_owned()).or_insert(Bson::Int32(1));
    order
}

/// The stages that return the flat documents behind the first few, in an order that is the same
/// each time.
///
/// Only in a collection does the `_id` tell all documents apart. Those of a view or a time series
/// may share it, such as the elements of an array that a view unwinds; so the whole document
/// decides last, which takes a sort that no index saves.
pub(super) fn pipeline(
    spec: &BucketSpec,
    order: &Document,
    has_unique_ids: bool,
    skip: u64,
) -> Vec<Document> {
    let names = spec.key.iter().map(|key| key.name);
    let key: Vec<_> = names.clone().map(|name| format!("${name}")).collect();
    let row = doc! { "$project": { "key": key, "element": "$$ROOT" } };
    let skip = doc! { "$skip": skip as i64 };
    let key = names.map(|name| format!("element.{name}"));
    let unset = doc! { "$unset": Vec::from_iter(key.chain(["element._id".to_owned()])) };
    if has_unique_ids {
        return vec![doc! { "$sort": order }, skip, row, unset];
    }
    let nested = order.iter();
    let nested = nested.map(|(name, direction)| (format!("element.{name}"), direction.clone()));
    let total = nested.chain([("element".to_owned(), Bson::Int32(1))]);
    vec![
        row,
        doc! { "$sort": Document::from_iter(total) },
        skip,
        unset,
    ]
}

/// Whether no two of the flat documents have one `_id`.
pub(super) async fn has_unique_ids(flat: &Server) -> bucket_runtime::Result<bool> {
    let listed = flat.target().find_listed();
    let listed = listed.await?;
    let kind = listed.as_ref().map(|listed| listed.get_str("type"));
    Ok(kind.is_none_or(|kind| kind.is_ok_and(|kind| kind == "collection")))
}

/// The stage that returns each key once.
pub(super) fn keys(spec: &BucketSpec) -> Document {
    let names = spec.key.iter().map(|key| format!("${}", key.name));
    doc! { "$group": { "_id": Vec::from_iter(names) } }
}

//! The queries and corrections of a verification, as pure functions.

use bucket_core::{
    protocol::command::{KeyScope, has_twins, is_unsealed, open_index_keys, stored_key},
    schema::{
        names::{NEWEST, SEALED},
        open_index::OpenIndex,
        spec::{BucketSpec, Ordinal},
    },
    value::rollup::Totals,
};
use mongodb::bson::{Bson, DateTime, Document, doc};

/// The facts of each bucket. The server counts the items, so none is sent.
pub(super) fn facts(spec: &BucketSpec) -> Document {
    doc! { "$replaceWith": facts_of(spec) }
}

/// The facts of each bucket, and the bucket.
pub(super) fn rows(spec: &BucketSpec) -> Document {
    doc! { "$replaceWith": { "facts": facts_of(spec), "bucket": "$$ROOT" } }
}

fn facts_of(spec: &BucketSpec) -> Document {
    let seal = doc! { "$eq": [field(SEALED), "$_id"] };
    let twins = spec.unique.map(|field| Bson::from(has_twins(spec, field)));
    doc! {
        "key": stored_key(spec),
        "count": { "$ifNull": [field(spec.count), null] },
        "items": items(spec),
        "own_seal": { "$cond": [is_unsealed(), null, seal] },
        "twins": twins.unwrap_or_else(|| doc! { "$literal": false }.into()),
    }
}

/// A page of buckets behind this id. Documents whose ids are not text are not buckets.
pub(crate) fn page_after(id: &str, page: usize) -> [Document; 3] {
    [
        doc! { "$match": { "_id": { "$gt": id } } },
        doc! { "$sort": { "_id": 1 } },
        doc! { "$limit": page as i64 },
    ]
}

/// All ids, and whether the buckets are open, the last one first: whoever opens buckets with
/// ascending numbers then leaves no gap in what is read.
pub(super) fn ids_newest_first(spec: &BucketSpec) -> [Document; 2] {
    [
        doc! { "$sort": { "_id": -1 } },
        doc! { "$project": { "is_open": is_open(spec) } },
    ]
}

/// Whether a bucket is open, and has room for an item.
fn is_open(spec: &BucketSpec) -> Document {
    let count = field(spec.count);
    doc! { "$and": [
        is_unsealed(),
        { "$eq": [&count, items(spec)] },
        { "$lt": [&count, bound(spec)] },
    ] }
}

/// The bucket as it was read, if its items are still the same.
pub(super) fn match_unchanged(scope: &KeyScope, id: &Bson, items: Bson) -> Document {
    let mut filter = scope.with_key(doc! { "_id": id });
    let now = field(scope.spec.items);
    filter.insert("$expr", doc! { "$eq": [now, { "$literal": items }] });
    filter
}

/// Replaces the rollup and the time of the newest item, as far as buckets keep them.
pub(super) fn set_rollup(
    spec: &BucketSpec,
    totals: &Totals,
    newest: Option<DateTime>,
) -> Vec<Document> {
    let mut fields = Document::new();
    if !spec.rollups.is_empty() {
        fields.insert(spec.rollup, doc! { "$literal": totals.document(spec) });
    }
    if let Some(newest) = newest.filter(|_| spec.expire_after.is_some()) {
        fields.insert(NEWEST, newest);
    }
    vec![doc! { "$set": fields }]
}

/// The open buckets.
fn open_buckets(spec: &BucketSpec) -> Document {
    doc! { spec.count: { "$lt": bound(spec) }, SEALED: { "$exists": false } }
}

/// The ids of the open buckets of each key (and window) that has several. Keys are compared as the
/// unique index compares them.
pub(super) fn group_several_open(spec: &BucketSpec) -> [Document; 3] {
    let keys = open_index_keys(spec);
    let key = keys.keys().filter(|name| *name != SEALED);
    let key: Vec<_> = key.map(|name| field(name)).collect();
    [
        doc! { "$match": open_buckets(spec) },
        doc! { "$group": { "_id": key, "n": { "$sum": 1 }, "ids": { "$push": "$_id" } } },
        doc! { "$match": { "n": { "$gt": 1 } } },
    ]
}

/// A filter for the documents with these ids whose count is wrong.
pub(super) fn match_wrong_counts(spec: &BucketSpec, ids: &[Bson]) -> Document {
    let is_array = doc! { "$isArray": [field(spec.items)] };
    let differs = doc! { "$ne": [field(spec.count), items(spec)] };
    doc! { "_id": { "$in": ids }, "$expr": { "$and": [is_array, differs] } }
}

/// The update that corrects a bucket's count. A bucket that has room but seemed to have none is
/// sealed: its key may have an open one.
pub(super) fn correct_count(spec: &BucketSpec) -> Vec<Document> {
    let count = field(spec.count);
    let capacity = bound(spec);
    // Only a number lies between two numbers, so no other type passes.
    let was_open = doc! { "$and": [{ "$gte": [&count, 0] }, { "$lt": [&count, capacity] }] };
    let is_sealed = doc! { "$and": [
        is_unsealed(),
        { "$lt": [items(spec), capacity] },
        { "$not": [was_open] },
    ] };
    let sealed = doc! { "$cond": [is_sealed, "$_id", field(SEALED)] };
    vec![doc! { "$set": { spec.count: items(spec), SEALED: sealed } }]
}

/// A filter for the documents with these ids whose `sealed` is wrong.
pub(super) fn match_wrong_seals(ids: &[Bson]) -> Document {
    let is_right = doc! { "$or": [is_unsealed(), { "$eq": [field(SEALED), "$_id"] }] };
    doc! { "_id": { "$in": ids }, "$expr": { "$not": [is_right] } }
}

/// A filter for the documents with these ids that are open.
pub(super) fn match_open(spec: &BucketSpec, ids: &[Bson]) -> Document {
    let mut filter = open_buckets(spec);
    filter.insert("_id", doc! { "$in": ids });
    filter
}

/// The empty buckets that may go: with numbers only open ones, since the others keep their places.
pub(super) fn empty_buckets(spec: &BucketSpec) -> Document {
    let mut filter = match spec.id.ordinal {
        Ordinal::Number => open_buckets(spec),
        _ => Document::new(),
    };
    filter.extend(doc! { "_id": { "$type": "string" }, spec.items: { "$size": 0 } });
    filter.extend(
        spec.key_names()
            .map(|name| (name.to_owned(), doc! { "$exists": true }.into())),
    );
    filter
}

/// Seals buckets.
pub(crate) fn seal() -> Vec<Document> {
    vec![doc! { "$set": { SEALED: "$_id" } }]
}

fn bound(spec: &BucketSpec) -> i32 {
    OpenIndex::first(spec.capacity).bound()
}

/// The length of the array, or null if it is not an array.
fn items(spec: &BucketSpec) -> Document {
    let items = field(spec.items);
    doc! { "$cond": [{ "$isArray": [&items] }, { "$size": &items }, null] }
}

fn field(name: &str) -> String {
    format!("${name}")
}

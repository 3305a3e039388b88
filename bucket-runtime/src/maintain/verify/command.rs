//! The queries and corrections of a verification, as pure functions.

use mongodb::bson::{Bson, Document, doc};

use crate::{
    protocol::command::{has_twins, open_index_keys},
    schema::{names::SEALED, open_index::OpenIndex, spec::BucketSpec},
};

/// The facts of each bucket that are checked. The server counts the items, so none is sent.
pub(super) fn facts(spec: &BucketSpec) -> Document {
    let key = spec.key.iter().map(|key| {
        let names = std::iter::once(&key.name).chain(key.aliases);
        let mut values: Vec<Bson> = names.map(|name| field(name).into()).collect();
        values.push(Bson::Null);
        doc! { "$ifNull": values }
    });
    let seal = doc! { "$eq": [field(SEALED), "$_id"] };
    let rolled = (spec.rollups.iter()).map(|each| format!("${}.{}.count", spec.rollup, each.name));
    let window = spec.window_name().map(|name| Bson::from(field(name)));
    let twins = spec.unique.map(|field| Bson::from(has_twins(spec, field)));
    doc! { "$project": {
        "key": key.collect::<Vec<_>>(),
        "window": window.unwrap_or_else(|| doc! { "$literal": null }.into()),
        "count": { "$ifNull": [field(spec.count), null] },
        "items": items(spec),
        "own_seal": { "$cond": [is_missing(SEALED), null, seal] },
        "rolled": rolled.collect::<Vec<_>>(),
        "twins": twins.unwrap_or_else(|| doc! { "$literal": false }.into()),
    } }
}

/// The open buckets.
pub(super) fn open(spec: &BucketSpec) -> Document {
    doc! { spec.count: { "$lt": bound(spec) }, SEALED: { "$exists": false } }
}

/// The ids of the open buckets of each key (and window) that has several. Keys are compared as the
/// unique index compares them.
pub(super) fn several_open(spec: &BucketSpec) -> [Document; 3] {
    let keys = open_index_keys(spec);
    let key = keys.keys().filter(|name| *name != SEALED);
    let key: Vec<_> = key.map(|name| field(name)).collect();
    [
        doc! { "$match": open(spec) },
        doc! { "$group": { "_id": key, "n": { "$sum": 1 }, "ids": { "$push": "$_id" } } },
        doc! { "$match": { "n": { "$gt": 1 } } },
    ]
}

/// Those of these documents whose count is wrong.
pub(super) fn wrong_counts(spec: &BucketSpec, ids: &[Bson]) -> Document {
    let is_array = doc! { "$isArray": [field(spec.items)] };
    let differs = doc! { "$ne": [field(spec.count), items(spec)] };
    doc! { "_id": { "$in": ids }, "$expr": { "$and": [is_array, differs] } }
}

/// Corrects their counts. A bucket that has room but seemed to have none is sealed: there may be an open
/// one.
pub(super) fn count_anew(spec: &BucketSpec) -> Vec<Document> {
    let count = field(spec.count);
    let capacity = bound(spec);
    // Only a number lies between two numbers, so no other type passes.
    let was_open = doc! { "$and": [{ "$gte": [&count, 0] }, { "$lt": [&count, capacity] }] };
    let is_sealed = doc! { "$and": [
        is_missing(SEALED),
        { "$lt": [items(spec), capacity] },
        { "$not": [was_open] },
    ] };
    let sealed = doc! { "$cond": [is_sealed, "$_id", field(SEALED)] };
    vec![doc! { "$set": { spec.count: items(spec), SEALED: sealed } }]
}

/// Those of these documents whose `sealed` is wrong.
pub(super) fn wrong_seals(ids: &[Bson]) -> Document {
    let differs = doc! { "$ne": [field(SEALED), "$_id"] };
    doc! { "_id": { "$in": ids }, SEALED: { "$exists": true }, "$expr": differs }
}

/// Those of these documents that are open.
pub(super) fn open_among(spec: &BucketSpec, ids: &[Bson]) -> Document {
    let mut filter = open(spec);
    filter.insert("_id", doc! { "$in": ids });
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

fn is_missing(name: &str) -> Document {
    doc! { "$eq": [{ "$type": field(name) }, "missing"] }
}

fn field(name: &str) -> String {
    format!("${name}")
}

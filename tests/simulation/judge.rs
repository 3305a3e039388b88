//! The judge: the guarantees after each statement, and at the end.

use std::collections::BTreeMap;

use bucket_runtime::bson::{Bson, Document};

use crate::{
    filter::number,
    world::{Told, World},
};

/// How far apart the numbers of two writers' items are.
pub(crate) const WRITER: i64 = 100;

/// What a guarantee says against the documents as they are: at each step.
pub(crate) fn step(world: &World) -> Option<String> {
    let (mut open, mut stored) = (BTreeMap::new(), BTreeMap::new());
    for bucket in buckets(world) {
        let items = items(bucket);
        let count = bucket.get("count").and_then(number);
        if count != Some(items.len() as i64) || items.len() as i64 > world.capacity {
            return Some(format!("G2: {bucket}"));
        }
        let key = bucket.get("sensor").and_then(number);
        let is_of_key = match (bucket.get("_id"), key) {
            (Some(Bson::String(id)), Some(key)) => id.starts_with(&format!("{key}_")),
            _ => false,
        };
        if !is_of_key {
            return Some(format!("G4: a read of the key does not find {bucket}"));
        }
        let is_sealed = matches!(bucket.get("sealed"), Some(Bson::String(_)));
        let is_open = count < Some(world.capacity) && !is_sealed;
        if is_open && open.insert(key, bucket).is_some() {
            return Some(format!("G3: a second open bucket, {bucket}"));
        }
        for item in items {
            if let Some(other) = stored.insert(item, bucket) {
                return Some(format!(
                    "G1: item {item} is stored in {other} and in {bucket}"
                ));
            }
        }
    }
    None
}

/// What a guarantee says at the end, when no command is on its way any more.
pub(crate) fn end(world: &World, is_numbered: bool) -> Option<String> {
    let mut buckets: Vec<_> = buckets(world).collect();
    buckets.sort_by_key(|bucket| bucket.get_str("_id").ok());
    // In the order in which a read of each key returns them: a key's ids begin alike.
    let stored: Vec<i64> = buckets.iter().flat_map(|bucket| items(bucket)).collect();
    for (item, told) in &world.told {
        match (told, stored.contains(item)) {
            (Told::Stored, false) => {
                return Some(format!("G1: item {item} was acknowledged, and is lost"));
            }
            (Told::Failed, true) => {
                return Some(format!("G1: item {item} has failed, and is stored"));
            }
            _ => {}
        }
    }
    is_numbered.then(|| out_of_order(world, &buckets)).flatten()
}

/// With numbers, what one writer was told to be stored is read in the order in which it was appended.
fn out_of_order(world: &World, buckets: &[&Document]) -> Option<String> {
    let mut last = BTreeMap::new();
    for bucket in buckets {
        let key = bucket.get("sensor").and_then(number);
        for item in items(bucket) {
            if world.told.get(&item) != Some(&Told::Stored) {
                continue;
            }
            let earlier = last.insert((key, item / WRITER), item);
            if let Some(earlier) = earlier.filter(|earlier| *earlier > item) {
                return Some(format!("G5: item {item} is read after {earlier}"));
            }
        }
    }
    None
}

/// The buckets, without rings.
fn buckets(world: &World) -> impl Iterator<Item = &Document> {
    let is_ring =
        |document: &&Document| document.get_str("_id").is_ok_and(|id| id.starts_with('%'));
    let documents = world.primary.store.documents.iter();
    documents.filter(move |document| !is_ring(document))
}

/// The items of a bucket.
fn items(bucket: &Document) -> Vec<i64> {
    let items = bucket.get_array("items").into_iter().flatten();
    items
        .filter_map(|item| number(item.as_document()?.get("n")?))
        .collect()
}

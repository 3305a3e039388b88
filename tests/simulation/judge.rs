//! The judge: the guarantees after each statement, and at the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bucket_runtime::bson::{Bson, DateTime, Document};

use crate::{
    filter::number,
    handle::{MOVED_CAPACITY, THRESHOLD},
    store::Store,
    world::{History, State, Told, World},
};

/// How far apart the numbers of two writers' items are.
pub(crate) const WRITER: i64 = 100;

/// What a guarantee says against the documents as they are: at each step.
pub(crate) fn step(world: &World) -> Option<String> {
    let mut stored = BTreeMap::new();
    for parent in &world.primary.parents.documents {
        let items = items(parent);
        if items.len() > THRESHOLD && !world.has_grown {
            return Some(format!("O2: {parent}"));
        }
        if !world.has_damage && !has_its_total(world, parent) {
            return Some(format!("O1: the total of {parent}"));
        }
        for (item, _) in items {
            if let Some(other) = stored.insert(item, &**parent) {
                return Some(format!(
                    "O1: item {item} is stored in {other} and in {parent}"
                ));
            }
        }
    }
    let is_late = |item: &i64| world.begun.get(item) == Some(&true);
    if world.is_gone
        && let Some(item) = self::stored(&world.primary.store).into_iter().find(is_late)
    {
        return Some(format!(
            "O1: item {item} was pushed after an acknowledged deletion of its parent, and is stored"
        ));
    }
    let migrated = Judged {
        documents: &world.primary.migrated,
        capacity: MOVED_CAPACITY.into(),
        may_exceed: false,
        may_have_several: false,
    };
    let own = Judged {
        documents: &world.primary.store,
        capacity: world.capacity,
        may_exceed: world.changes_capacity,
        may_have_several: world.is_unguarded,
    };
    own.broken(stored, world)
        .or_else(|| migrated.broken(BTreeMap::new(), world))
}

/// A collection of buckets.
struct Judged<'w> {
    documents: &'w Store,
    capacity: i64,
    /// Whether buckets may have more items than the capacity.
    may_exceed: bool,
    /// Whether a key may have several open buckets.
    may_have_several: bool,
}

impl<'w> Judged<'w> {
    /// What a guarantee says; these documents hold these items.
    fn broken(&self, mut stored: BTreeMap<i64, &'w Document>, world: &World) -> Option<String> {
        let mut open = BTreeMap::new();
        for bucket in buckets(self.documents) {
            let items = items(bucket);
            let count = bucket.get("count").and_then(number);
            let is_too_full = items.len() as i64 > self.capacity && !self.may_exceed;
            // Extras of another program, which are not taken over yet.
            let is_other = count.is_none() && world.has_grown;
            let is_wrong = count != Some(items.len() as i64) && !world.has_damage;
            if is_wrong && !is_other || is_too_full {
                return Some(format!("G2: {bucket}"));
            }
            let key = bucket.get("sensor").and_then(number);
            let is_of_key = match (bucket.get("_id"), key) {
                (Some(Bson::String(id)), Some(key)) => id.starts_with(&format!("{key}_")),
                _ => false,
            };
            if !is_of_key && !is_other {
                return Some(format!("G4: a read of the key does not find {bucket}"));
            }
            if !world.has_damage && !has_its_totals(bucket, &items) {
                return Some(format!("G2: the rollup of {bucket}"));
            }
            if !world.has_damage && is_extra_without_flag(world, key) {
                return Some(format!("O3: the parent of {bucket} has no flag"));
            }
            let is_sealed = matches!(bucket.get("sealed"), Some(Bson::String(_)));
            let is_open = count < Some(self.capacity) && !is_sealed && !is_other;
            let is_second = is_open && open.insert((key, window(bucket)), bucket).is_some();
            if is_second && !self.may_have_several {
                return Some(format!("G3: a second open bucket, {bucket}"));
            }
            for (item, _) in items {
                if let Some(other) = stored.insert(item, bucket) {
                    return Some(format!(
                        "G1: item {item} is stored in {other} and in {bucket}"
                    ));
                }
            }
        }
        None
    }
}

/// The numbers of the items that buckets hold.
pub(crate) fn stored(documents: &Store) -> BTreeSet<i64> {
    let items = buckets(documents).flat_map(items);
    items.map(|(n, _)| n).collect()
}

/// Which document has got more items than it may have.
pub(crate) fn growth(world: &World, before: &State) -> Option<String> {
    let mut parents = world.primary.parents.documents.iter();
    let is_above_threshold = |parent: &&Arc<Document>| {
        let items = items(parent).len();
        // Another program has inserted it.
        let had = length_in(&before.parents, parent).unwrap_or(items);
        items > had.max(THRESHOLD)
    };
    if let Some(parent) = parents.find(is_above_threshold) {
        return Some(format!("O2: above the threshold: {parent}"));
    }
    let is_above_capacity = |bucket: &&Document| {
        let items = items(bucket).len();
        let had = length_in(&before.store, bucket).unwrap_or(0);
        let most = match has_former_id(world, bucket) {
            true => world.most_capacity,
            false => world.created_capacity,
        };
        items as i64 > most && items > had && !world.is_unguarded
    };
    let bucket = buckets(&world.primary.store).find(is_above_capacity)?;
    let capacity = world.created_capacity;
    Some(format!("G2: above the capacity of {capacity}: {bucket}"))
}

/// Whether the bucket has the id of one that was removed. Without a validator, a handle that remembers that one may fill
/// it, up to a former capacity, and late.
fn has_former_id(world: &World, bucket: &Document) -> bool {
    let id = bucket.get_str("_id");
    id.is_ok_and(|id| world.removed_ids.contains(id))
}

/// How many items the document with the same id has there.
pub(crate) fn length_in(store: &Store, document: &Document) -> Option<usize> {
    let mut documents = store.documents.iter();
    let found = documents.find(|other| other.get("_id") == document.get("_id"));
    found.map(|found| items(found).len())
}

/// Whether the total of a parent, if it keeps one, is that of all its items.
fn has_its_total(world: &World, parent: &Document) -> bool {
    let field = |name| parent.get(name).and_then(number);
    let counted = |id| of_parent(world, id).len() as i64;
    field("total").is_none_or(|total| field("_id").map(counted) == Some(total))
}

/// The numbers of a parent's items, in the order in which a read gives them.
pub(crate) fn of_parent(world: &World, id: i64) -> Vec<i64> {
    let is = |document: &&Document, name| document.get(name).and_then(number) == Some(id);
    let parents = buckets(&world.primary.parents).filter(|parent| is(parent, "_id"));
    let extras = buckets(&world.primary.store).filter(|bucket| is(bucket, "sensor"));
    let mut extras = Vec::from_iter(extras);
    extras.sort_by_key(|bucket| bucket.get_str("_id").ok());
    let items = parents.chain(extras).flat_map(items);
    items.map(|(n, _)| n).collect()
}

/// Whether the key is a parent's, and the parent is not flagged.
fn is_extra_without_flag(world: &World, key: Option<i64>) -> bool {
    let mut parents = world.primary.parents.documents.iter();
    let parent = parents.find(|parent| parent.get("_id").and_then(number) == key);
    parent.is_some_and(|parent| parent.get_bool("has_extras") != Ok(true))
}

/// What a guarantee says at the end, when no command is on its way any more.
pub(crate) fn end(world: &World, is_in_order: bool) -> Option<String> {
    let mut buckets: Vec<_> = buckets(&world.primary.store).collect();
    // In the order in which a read of each key returns them: a key's ids begin alike, and parents come first.
    buckets.sort_by_key(|bucket| bucket.get_str("_id").ok());
    let parents = world
        .primary
        .parents
        .documents
        .iter()
        .map(|parent| &**parent);
    let buckets = Vec::from_iter(parents.chain(buckets));
    let stored: BTreeMap<i64, i64> = buckets.iter().flat_map(|bucket| items(bucket)).collect();
    let broken = |(item, history): (&i64, &History)| {
        let stored = stored.get(item).copied();
        let is_deleted = stored.is_none() && world.deleted == Some(world.sensor(*item));
        contradiction(history, stored).filter(|_| !is_deleted)
    };
    if let Some((item, what)) = (world.told.iter()).find_map(|told| Some((told.0, broken(told)?))) {
        return Some(format!("G1: item {item} {what}"));
    }
    if !is_in_order {
        return None;
    }
    // A dropped deletion may have removed some extras, and not others.
    let may_have_gap = world.has_lost_buckets || world.deleted.is_some();
    let gap = (!may_have_gap).then(|| gap(&buckets));
    gap.flatten().or_else(|| out_of_order(world, &buckets))
}

/// The numbers of a key have no gap. Below zero, the last page of a split may have gone with its last item: then the
/// next page has number zero.
fn gap(buckets: &[&Document]) -> Option<String> {
    let mut next = BTreeMap::<Option<i64>, i64>::new();
    for bucket in buckets {
        let found = bucket.get_str("_id").ok().and_then(ordinal);
        if let Some(found) = found {
            let next = next
                .entry(bucket.get("sensor").and_then(self::number))
                .or_insert(found.min(0));
            let is_emptied = (*next, found) == (-1, 0);
            if found != *next && !is_emptied {
                return Some(format!("G5: a gap before {bucket}"));
            }
            *next = found + 1;
        }
    }
    None
}

/// The number of a bucket. What a split puts before other extras has one below zero.
fn ordinal(id: &str) -> Option<i64> {
    let (_, text) = id.rsplit_once('_')?;
    match text.strip_prefix('-') {
        Some(digits) => Some(digits.parse::<i64>().ok()? - 10_i64.pow(digits.len() as u32)),
        None => text.parse().ok(),
    }
}

/// What callers were told that is not true of the item, which has been changed so often, if it is stored.
fn contradiction(history: &History, stored: Option<i64>) -> Option<&'static str> {
    let (least, most) = history.changes;
    match (history.appended, history.removed, stored) {
        (Told::Done, Told::Failed, None) => Some("was acknowledged, and is lost"),
        (Told::Failed, _, Some(_)) => Some("has failed, and is stored"),
        (_, Told::Done, Some(_)) => Some("was removed, and is stored"),
        (_, _, Some(changes)) if changes < least => Some("has lost an acknowledged change"),
        (_, _, Some(changes)) if changes > most => {
            Some("was changed twice, or by a call that has failed")
        }
        _ => None,
    }
}

/// What one writer was told to be stored is read in the order in which it was appended.
fn out_of_order(world: &World, buckets: &[&Document]) -> Option<String> {
    let mut last = BTreeMap::new();
    for bucket in buckets.iter().filter(|it| !has_former_id(world, it)) {
        let key = bucket.get("sensor").or_else(|| bucket.get("_id"));
        let key = key.and_then(number);
        for (item, _) in items(bucket) {
            if world.told.get(&item).map(|history| history.appended) != Some(Told::Done) {
                continue;
            }
            let earlier = last.insert((key, window(bucket), item / WRITER), item);
            if let Some(earlier) = earlier.filter(|earlier| *earlier > item) {
                return Some(format!("G5: item {item} is read after {earlier}"));
            }
        }
    }
    None
}

pub(crate) fn buckets(documents: &Store) -> impl Iterator<Item = &Document> {
    documents.documents.iter().map(|document| &**document)
}

/// The time window of a bucket, if there are any.
fn window(bucket: &Document) -> Option<DateTime> {
    bucket.get_datetime("window").ok().copied()
}

/// Whether the rollup of a bucket, if it keeps one, is that of its items.
fn has_its_totals(bucket: &Document, items: &[(i64, i64)]) -> bool {
    let Ok(rollup) = bucket.get_document("rollup") else {
        return true;
    };
    let total = |name| number(rollup.get_document("changes").ok()?.get(name)?);
    let changes = || items.iter().map(|(_, changes)| *changes);
    total("count") == Some(items.len() as i64)
        && total("sum").unwrap_or(0) == changes().sum::<i64>()
        && total("max") == changes().max()
}

/// The items of a bucket, and how often each has been changed.
pub(crate) fn items(bucket: &Document) -> Vec<(i64, i64)> {
    let items = bucket.get_array("items").into_iter().flatten();
    let items = items.filter_map(Bson::as_document);
    let field = |item: &Document, name| item.get(name).and_then(number);
    items
        .filter_map(|item| Some((field(item, "n")?, field(item, "changes").unwrap_or(0))))
        .collect()
}

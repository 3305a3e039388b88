//! The fields that a bucket stores about its items, computed from them.

use bucket_core::{
    protocol::{
        budget::Budget,
        command::{IndexedScope, before_all_windows},
    },
    schema::{
        names::{NEWEST, OVERSIZE, SEALED},
        spec::BucketSpec,
    },
    value::{
        element::{Refusal, value_size},
        rollup::Totals,
    },
};
use bucket_runtime::Bucket;
use mongodb::bson::{Bson, Document};

/// Writes what the bucket stores about these items, which are all that it holds.
pub(super) fn summarize<T: Bucket>(
    scope: &IndexedScope,
    bucket: &mut Document,
    items: &[T],
) -> Result<(), Refusal> {
    let spec = const { &T::SPEC };
    if !spec.rollups.is_empty() {
        let stored = bucket.get_document(spec.rollup).ok();
        let stored = stored.and_then(|stored| Totals::read(spec, stored, items.len() as u64));
        match (Totals::of(spec, items.iter().map(T::rollup_values)), stored) {
            // A stored rollup that agrees stays: the last digits of a sum depend on the order of
            // additions.
            (Some(totals), Some(stored)) if stored.agrees_with(&totals) => {}
            (Some(totals), _) => drop(bucket.insert(spec.rollup, totals.document(spec))),
            // Only the server can add these values, and it has done so.
            (None, Some(_)) => {}
            (None, None) => return Err("the sum of its items would exceed 64 bits".into()),
        }
    }
    if spec.expire_after.is_some() {
        let newest = items.iter().filter_map(T::time).max();
        bucket.insert(NEWEST, newest.unwrap_or_else(|| before_all_windows(0)));
    }
    if let Some(budget) = Budget::of(scope) {
        match oversize(&budget, elements(spec, bucket)) {
            0 => drop(bucket.remove(OVERSIZE)),
            oversize => drop(bucket.insert(OVERSIZE, oversize)),
        }
    }
    Ok(())
}

/// The elements of a bucket.
pub(super) fn elements<'b>(spec: &BucketSpec, bucket: &'b Document) -> &'b [Bson] {
    bucket.get_array(spec.items).map_or(&[], Vec::as_slice)
}

/// Closes a bucket.
pub(super) fn seal(bucket: &mut Document) {
    if let Some(id) = bucket.get("_id").cloned() {
        bucket.insert(SEALED, id);
    }
}

fn oversize(budget: &Budget, elements: &[Bson]) -> i64 {
    let sizes = elements.iter().map(value_size);
    sizes.map(|size| budget.oversize(size)).sum()
}

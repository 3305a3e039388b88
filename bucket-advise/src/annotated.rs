//! Advice on the collections of a struct: whether the capacity and the order of its buckets suit
//! the items that are there, and which threshold suits its outliers.

use bucket_runtime::bson::{Bson, Document, doc};
use bucket_runtime::{BucketSpec, Ordinal, OutlierSpec};
use serde_json::{Value, json};

use super::figures::{counted, percent, thousands};
use super::measure::capacity::{FRAME, PLACE, Simulated, recommended, simulate};
use super::measure::fill::out_of_order;
use super::measure::keys::ItemsPerKey;
use super::measure::lengths::Lengths;
use super::measure::threshold::rule::Distribution;
use super::measure::whole;
use super::verdict::arrays::figures::{figures, reason};
use super::verdict::flat::figures::capacity_table;

/// The advice for windows that mostly have a single item.
const LONGER_WINDOWS: &str = "no capacity fills these buckets, since at least half of the windows have a single item: \
    take longer windows, in another collection (a collection keeps the length of its windows)";

/// Stages whose rows say how many keys, or windows of keys, have each number of items.
pub fn stages(spec: &BucketSpec) -> Vec<Document> {
    let key = spec.key.iter().map(|key| key.name);
    let window = is_window(spec).then_some(spec.window);
    by_items(spec, key.chain(window))
}

/// Stages whose rows say how many keys have each number of items in all of their windows.
pub(super) fn key_stages(spec: &BucketSpec) -> Vec<Document> {
    by_items(spec, spec.key.iter().map(|key| key.name))
}

fn by_items(spec: &BucketSpec, fields: impl Iterator<Item = &'static str>) -> Vec<Document> {
    let of: Document = (0..)
        .zip(fields)
        .map(|(at, name)| (format!("k{at}"), Bson::String(format!("${name}"))))
        .collect();
    let count = format!("${}", spec.count);
    vec![
        doc! { "$group": {
            "_id": of, "items": { "$sum": count }, "buckets": { "$sum": 1 },
            "bytes": { "$sum": { "$bsonSize": "$$ROOT" } },
        } },
        doc! { "$group": {
            "_id": "$items", "keys": { "$sum": 1 }, "buckets": { "$sum": "$buckets" },
            "bytes": { "$sum": "$bytes" },
        } },
    ]
}

/// Stages whose row counts the buckets that begin before the one with the lower id, where a time
/// orders them.
pub fn order_stages(spec: &BucketSpec) -> Option<Vec<Document>> {
    let key: Vec<_> = spec.key.iter().map(|key| key.name.to_owned()).collect();
    let time = spec.time.filter(|_| !is_window(spec))?;
    Some(out_of_order(&key, spec.items, time))
}

/// Whether buckets stand for windows of time.
pub(super) fn is_window(spec: &BucketSpec) -> bool {
    matches!(spec.id.ordinal, Ordinal::Window { .. })
}

/// The report on these rows of the struct of this name, and on its buckets out of order.
pub fn report(
    spec: &BucketSpec,
    name: &str,
    rows: &[Document],
    disordered: Option<&Document>,
) -> (Vec<String>, Value) {
    let keys = ItemsPerKey::of_rows(rows);
    let sum = |name| rows.iter().map(|row| whole(row, name)).sum::<u64>();
    let (buckets, items) = (sum("buckets"), keys.items());
    let Some(item_bytes) = sum("bytes")
        .saturating_sub(buckets * FRAME)
        .checked_div(items)
    else {
        let line = "there are no items to analyse".to_owned();
        return (vec![line], json!({ "items": 0 }));
    };
    let capacity = u64::from(spec.capacity);
    let simulated = simulate(&keys, item_bytes.saturating_sub(PLACE), Some(capacity));
    let best = better(&simulated, capacity);
    let disordered = disordered.map(|row| whole(row, "buckets"));
    let (owners, all_owners) = match is_window(spec) {
        true => ("windows", "windows of keys"),
        false => ("keys", "keys"),
    };
    let mut lines = vec![format!(
        "{} in {}; {} {all_owners}, half of which have at most {}",
        counted(items, "item"),
        counted(buckets, "bucket"),
        thousands(keys.keys()),
        thousands(keys.median())
    )];
    let shown = best.map_or(capacity, |best| best.capacity);
    lines.extend(capacity_table(&simulated, shown, &keys, owners));
    lines.push(sentence(name, &simulated, capacity, best));
    lines.extend((is_window(spec) && keys.median() == 1).then(|| LONGER_WINDOWS.to_owned()));
    lines.extend(disordered.map(|disordered| order(disordered, buckets)));
    let value = json!({
        "items": items, "buckets": buckets, "capacity": capacity,
        "recommended": shown, "out_of_order": disordered,
    });
    (lines, value)
}

/// A capacity that repays the change: it saves a third of the documents, or makes large buckets
/// small.
fn better(simulated: &[Simulated], capacity: u64) -> Option<Simulated> {
    let now = simulated.iter().find(|of| of.capacity == capacity)?;
    let best = recommended(simulated)?;
    let is_fewer = best.capacity > capacity && best.documents * 3 <= now.documents * 2;
    let is_smaller = best.capacity < capacity && now.is_large();
    (is_fewer || is_smaller).then_some(best)
}

fn sentence(name: &str, simulated: &[Simulated], capacity: u64, best: Option<Simulated>) -> String {
    let now = simulated.iter().find(|of| of.capacity == capacity);
    let documents = thousands(now.map_or(0, |now| now.documents));
    match best {
        None => format!("keep the capacity of {}", thousands(capacity)),
        Some(best) => format!(
            "take a capacity of {}: {} instead of {documents} (write `capacity = {}`; then `change-capacity {name}` \
             for new buckets, or `migrate_from` for all)",
            thousands(best.capacity),
            counted(best.documents, "bucket"),
            best.capacity,
        ),
    }
}

/// Whether the order of ids is that of time.
fn order(disordered: u64, buckets: u64) -> String {
    match disordered * 100 > buckets {
        true => format!(
            "{} of the buckets begin before the one with the lower id: items come late, and find their place in \
             time windows (`{{date/1d}}`)",
            percent(disordered, buckets)
        ),
        false => "keep the order: the buckets begin in the order of their ids".to_owned(),
    }
}

/// Stages whose rows say how many parents have an array of each length.
pub fn length_stages(spec: &OutlierSpec) -> Vec<Document> {
    Lengths::stages(spec.items)
}

/// The report on these rows of parents.
pub fn threshold_report(rows: &[Document]) -> (Vec<String>, Value) {
    let lengths = Lengths::of_rows(rows);
    let distribution = Distribution::of(&lengths);
    let threshold = distribution.threshold();
    let mut lines = figures(&lengths, threshold);
    let chosen = threshold.map_or("no threshold".to_owned(), |threshold| {
        format!("threshold = {threshold}")
    });
    lines.extend([String::new(), chosen, reason(&lengths, distribution)]);
    let value = json!({
        "documents": lengths.documents(), "items": lengths.items(), "longest": lengths.longest(),
        "recommended": threshold,
    });
    (vec![lines.join("\n")], value)
}

#[cfg(test)]
mod tests {
    use super::{better, simulate};
    use crate::measure::keys::ItemsPerKey;

    /// The capacity to take instead of the present one.
    fn change(items: u64, item_bytes: u64, capacity: u64) -> Option<u64> {
        let keys = ItemsPerKey::of([(items, 1000)]);
        let simulated = simulate(&keys, item_bytes, Some(capacity));
        better(&simulated, capacity).map(|best| best.capacity)
    }

    #[test]
    fn a_capacity_changes_only_if_that_repays() {
        assert_eq!(change(1000, 40, 10), Some(1000));
        assert_eq!(change(1000, 40, 800), None);
        assert_eq!(change(8, 40, 10), None);
        // A full bucket of ten thousand bytes an item should hold fewer.
        assert_eq!(change(1000, 10_000, 500), Some(20));
        assert_eq!(change(1000, 40, 2000), None);
    }
}

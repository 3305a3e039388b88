//! How full buckets are.

use std::collections::BTreeMap;

use bucket_runtime::bson::{Bson, Document, doc};
use bucket_runtime::mongodb::IndexModel;

use super::{array_length, whole};

/// The buckets of a collection, by their number of items.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Fill {
    pub(crate) capacity: u64,
    pub(crate) buckets: u64,
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    pub(crate) largest_bytes: u64,
    pub(crate) full: u64,
    pub(crate) open: u64,
    pub(crate) sealed: u64,
    /// Sealed buckets that lack room by bytes rather than by removed items.
    pub(crate) sealed_by_bytes: u64,
    pub(crate) wrong_count: u64,
    /// The buckets that hold each number of items.
    pub(crate) by_items: BTreeMap<u64, Filled>,
}

/// Buckets that are equally full.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Filled {
    pub(crate) full: u64,
    pub(crate) open: u64,
    pub(crate) sealed: u64,
}

impl Filled {
    pub(crate) fn add(&mut self, other: Self) {
        self.full += other.full;
        self.open += other.open;
        self.sealed += other.sealed;
    }

    pub(crate) fn buckets(&self) -> u64 {
        self.full + self.open + self.sealed
    }
}

/// The minimum bytes of a bucket that was sealed for want of bytes: three quarters of 4 MiB.
const SEALED_BYTES: i64 = 3 << 20;

impl Fill {
    /// Stages whose rows count the buckets by their number of items.
    pub(crate) fn stages(items: &str, count: &str) -> Vec<Document> {
        let (length, count) = (array_length(items), format!("${count}"));
        let bytes = doc! { "$bsonSize": "$$ROOT" };
        let is_sealed = doc! { "$not": [{ "$in": [{ "$type": "$sealed" }, ["missing", "null"]] }] };
        let is_large = doc! { "$gte": [bytes.clone(), SEALED_BYTES] };
        vec![doc! { "$group": {
            "_id": { "items": length.clone(), "sealed": is_sealed, "large": is_large },
            "buckets": { "$sum": 1 },
            "bytes": { "$sum": bytes.clone() },
            "largest": { "$max": bytes },
            "wrong": { "$sum": { "$cond": [{ "$eq": [count, length] }, 0, 1] } },
        } }]
    }

    /// Without a capacity, it is that of the fullest bucket.
    pub(crate) fn of_rows(rows: &[Document], capacity: Option<u64>) -> Self {
        let id = |row: &Document| row.get_document("_id").cloned().unwrap_or_default();
        let most = rows.iter().map(|row| whole(&id(row), "items")).max();
        let mut fill = Self {
            capacity: capacity.or(most).unwrap_or(0),
            ..Self::default()
        };
        for row in rows {
            let (id, buckets) = (id(row), whole(row, "buckets"));
            let is = |name| id.get_bool(name).unwrap_or(false);
            fill.buckets += buckets;
            fill.items += whole(&id, "items") * buckets;
            fill.bytes += whole(row, "bytes");
            fill.largest_bytes = fill.largest_bytes.max(whole(row, "largest"));
            fill.wrong_count += whole(row, "wrong");
            let filled = fill.by_items.entry(whole(&id, "items")).or_default();
            match (whole(&id, "items") >= fill.capacity, is("sealed")) {
                (true, _) => filled.full += buckets,
                (false, true) => {
                    filled.sealed += buckets;
                    fill.sealed_by_bytes += if is("large") { buckets } else { 0 };
                }
                (false, false) => filled.open += buckets,
            }
        }
        let mut all = Filled::default();
        fill.by_items.values().for_each(|filled| all.add(*filled));
        (fill.full, fill.open, fill.sealed) = (all.full, all.open, all.sealed);
        fill
    }

    /// How many buckets hold more than the capacity.
    pub(crate) fn overfull(&self) -> u64 {
        let larger = self.by_items.range(self.capacity + 1..);
        larger.map(|(_, filled)| filled.buckets()).sum()
    }

    /// How much of the buckets' room is taken, in percent.
    pub(crate) fn percent(&self) -> u64 {
        (self.items * 100)
            .checked_div(self.buckets * self.capacity)
            .unwrap_or(0)
    }
}

/// The capacity in the index `bucket_open`, if there is one.
pub fn capacity(indexes: &[IndexModel]) -> Option<u64> {
    let options = indexes.iter().filter_map(|index| index.options.as_ref());
    let is_open = |name: &String| name.starts_with("bucket_open");
    let mut open = options.filter(|options| options.name.as_ref().is_some_and(is_open));
    let filter = open.next()?.partial_filter_expression.as_ref()?;
    let bounds = filter
        .values()
        .filter_map(|bound| bound.as_document()?.get("$lt"));
    let mut bounds =
        bounds.filter_map(|bound| bound.as_i64().or_else(|| bound.as_i32().map(i64::from)));
    u64::try_from(bounds.next()?).ok()
}

/// Stages whose row counts the keys, or windows of keys, with several open buckets.
pub(crate) fn several_open(
    key: &[String],
    is_window: bool,
    items: &str,
    capacity: u64,
) -> Vec<Document> {
    let mut of = key_fields(key);
    if is_window {
        of.insert("window", "$window");
    }
    let has_room = format!("{items}.{}", capacity.saturating_sub(1));
    vec![
        doc! { "$match": { "sealed": { "$in": [null, 0] }, has_room: { "$exists": false } } },
        doc! { "$group": { "_id": of, "open": { "$sum": 1 } } },
        doc! { "$match": { "open": { "$gt": 1 } } },
        doc! { "$count": "keys" },
    ]
}

/// Stages whose row counts the buckets that begin before the bucket with the lower id of their key.
pub(crate) fn out_of_order(key: &[String], items: &str, time: &str) -> Vec<Document> {
    vec![
        doc! { "$project": {
            "key": key_fields(key), "first": first_of(items, time),
        } },
        doc! { "$setWindowFields": {
            "partitionBy": "$key", "sortBy": { "_id": 1 },
            "output": { "earlier": { "$shift": { "output": "$first", "by": -1 } } },
        } },
        doc! { "$match": { "$expr": { "$and": [
            { "$ne": [{ "$ifNull": ["$earlier", null] }, null] }, { "$lt": ["$first", "$earlier"] },
        ] } } },
        doc! { "$count": "buckets" },
    ]
}

/// Stages whose row is the minute in which a key opened the most buckets.
pub(crate) fn busiest_minute(key: &[String], items: &str, time: &str) -> Vec<Document> {
    let minute = doc! { "$floor": { "$divide": [{ "$toLong": "$first" }, 60_000] } };
    vec![
        doc! { "$project": { "key": key_fields(key), "first": first_of(items, time) } },
        doc! { "$match": { "first": { "$type": "date" } } },
        doc! { "$group": {
            "_id": { "key": "$key", "minute": minute }, "buckets": { "$sum": 1 },
        } },
        doc! { "$sort": { "buckets": -1 } },
        doc! { "$limit": 1 },
    ]
}

/// A field of a bucket's first item; null in a document that has no items.
pub(crate) fn first_of(items: &str, field: &str) -> Document {
    let first = doc! { "$first": format!("${items}.{field}") };
    doc! { "$cond": [{ "$isArray": [format!("${items}")] }, first, Bson::Null] }
}

fn key_fields(key: &[String]) -> Document {
    let fields = key.iter().enumerate();
    fields
        .map(|(at, name)| (format!("k{at}"), Bson::String(format!("${name}"))))
        .collect()
}

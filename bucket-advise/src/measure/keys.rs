//! How many items each key has.

use bucket_runtime::bson::{Bson, Document, doc};

use super::{quantile, whole};

/// The quantiles to report, in percent.
const QUANTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// How many of the largest keys are reported.
const LARGEST: usize = 5;

/// How many keys have each number of items.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ItemsPerKey {
    /// Pairs of a number of items and the keys that have this number, in order.
    groups: Vec<(u64, u64)>,
}

impl ItemsPerKey {
    /// Stages whose rows say how many keys have each number of items.
    pub(crate) fn stages(key: &[String]) -> Vec<Document> {
        vec![
            has_key(key),
            by_key(key),
            doc! { "$group": { "_id": "$items", "keys": { "$sum": 1 } } },
        ]
    }

    /// Stages whose rows are the largest keys.
    pub(crate) fn largest_stages(key: &[String]) -> Vec<Document> {
        vec![
            has_key(key),
            by_key(key),
            doc! { "$sort": { "items": -1, "_id": 1 } },
            doc! { "$limit": LARGEST as i64 },
        ]
    }

    pub(crate) fn of_rows(rows: &[Document]) -> Self {
        Self::of(
            rows.iter()
                .map(|row| (whole(row, "_id"), whole(row, "keys"))),
        )
    }

    /// From pairs of a number of items and the keys that have this number.
    pub(crate) fn of(groups: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut sums = std::collections::BTreeMap::new();
        for (items, keys) in groups.into_iter().filter(|(items, _)| *items > 0) {
            *sums.entry(items).or_insert(0) += keys;
        }
        Self {
            groups: sums.into_iter().collect(),
        }
    }

    pub(crate) fn keys(&self) -> u64 {
        self.groups.iter().map(|(_, keys)| keys).sum()
    }

    pub(crate) fn items(&self) -> u64 {
        self.groups.iter().map(|(items, keys)| items * keys).sum()
    }

    pub(crate) fn most(&self) -> u64 {
        self.groups.last().map_or(0, |(items, _)| *items)
    }

    pub(crate) fn median(&self) -> u64 {
        self.quantile(50.0)
    }

    /// Percentages, each with the number of items that this share of the keys does not exceed.
    pub(crate) fn quantiles(&self) -> Vec<(f64, u64)> {
        QUANTILES
            .map(|percent| (percent, self.quantile(percent)))
            .to_vec()
    }

    fn quantile(&self, percent: f64) -> u64 {
        quantile(self.groups.iter().copied(), percent)
    }

    /// The items of the largest keys.
    pub(crate) fn largest(&self) -> Vec<u64> {
        let all = self.groups.iter().rev();
        let all = all.flat_map(|(items, keys)| {
            std::iter::repeat_n(*items, (*keys).min(LARGEST as u64) as usize)
        });
        all.take(LARGEST).collect()
    }

    /// Pairs of a number of items and the keys that have this number, the largest keys first.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.groups.iter().rev().copied()
    }

    /// The number of buckets with this capacity.
    pub(crate) fn buckets(&self, capacity: u64) -> u64 {
        self.groups
            .iter()
            .map(|(items, keys)| items.div_ceil(capacity) * keys)
            .sum()
    }

    /// How many keys have no more items than this.
    pub(crate) fn keys_within(&self, items: u64) -> u64 {
        let within = self.groups.iter().filter(|(of_key, _)| *of_key <= items);
        within.map(|(_, keys)| keys).sum()
    }
}

/// The documents that have a key.
fn has_key(key: &[String]) -> Document {
    let fields = key.iter();
    let fields: Document = fields
        .map(|name| (name.clone(), doc! { "$ne": Bson::Null }.into()))
        .collect();
    doc! { "$match": fields }
}

/// Counts the items of each key.
fn by_key(key: &[String]) -> Document {
    let fields = key.iter().enumerate();
    let key: Document = fields
        .map(|(at, name)| (format!("k{at}"), Bson::String(format!("${name}"))))
        .collect();
    doc! { "$group": { "_id": key, "items": { "$sum": 1 } } }
}

/// The key of a row as text: its values, separated by commas.
pub(crate) fn name(row: &Document) -> String {
    let values = row.get_document("_id").into_iter().flatten();
    let texts = values.map(|(_, value)| text(Some(value)));
    texts.collect::<Vec<_>>().join(", ")
}

/// A value of the data as text.
pub(crate) fn text(value: Option<&Bson>) -> String {
    match value {
        Some(Bson::String(text)) => text.clone(),
        Some(Bson::ObjectId(id)) => id.to_hex(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

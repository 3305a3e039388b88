//! How long arrays are.

use std::collections::BTreeMap;

use bucket_runtime::bson::{Document, doc};

use super::growth::GROWN;
use super::{array_length, quantile, whole};

/// The quantiles to report, in percent.
const QUANTILES: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// All documents whose arrays have the same length: how many there are, and their size in bytes
/// together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LengthGroup {
    pub(crate) length: u64,
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
}

/// The documents of a collection, by the length of their arrays.
#[derive(Debug, Clone)]
pub(crate) struct Lengths {
    /// In order of length.
    groups: Vec<LengthGroup>,
    /// For each group: the documents, the items and the bytes of it and of all longer ones.
    from: Vec<[u64; 3]>,
}

impl Lengths {
    /// Stages whose rows count the documents with an array of each length.
    pub(crate) fn stages(array: &str) -> Vec<Document> {
        vec![project_length(array), group_by_length()]
    }

    pub(crate) fn of_rows(rows: &[Document]) -> Self {
        Self::of(rows.iter().map(|row| LengthGroup {
            length: whole(row, "_id"),
            documents: whole(row, "documents"),
            bytes: whole(row, "bytes"),
        }))
    }

    /// From groups in any order, several of which may have the same length.
    pub(crate) fn of(groups: impl IntoIterator<Item = LengthGroup>) -> Self {
        let mut by_length = BTreeMap::new();
        for group in groups.into_iter().filter(|group| group.documents > 0) {
            let (documents, bytes) = by_length.entry(group.length).or_insert((0, 0));
            *documents += group.documents;
            *bytes += group.bytes;
        }
        let groups = by_length.into_iter();
        let groups: Vec<_> = groups
            .map(|(length, (documents, bytes))| LengthGroup {
                length,
                documents,
                bytes,
            })
            .collect();
        let mut sums = [0; 3];
        let from = groups.iter().rev().map(|group| {
            sums[0] += group.documents;
            sums[1] += group.documents * group.length;
            sums[2] += group.bytes;
            sums
        });
        let mut from: Vec<_> = from.collect();
        from.reverse();
        Self { groups, from }
    }

    pub(crate) fn distinct(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().map(|group| group.length)
    }

    pub(crate) fn documents(&self) -> u64 {
        self.sums_from(0)[0]
    }

    pub(crate) fn items(&self) -> u64 {
        self.sums_from(0)[1]
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.sums_from(0)[2]
    }

    pub(crate) fn longest(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.length)
    }

    pub(crate) fn median(&self) -> u64 {
        self.quantile(50.0)
    }

    /// Percentages, each with the length that this share of the arrays does not exceed.
    pub(crate) fn quantiles(&self) -> [(f64, u64); 6] {
        QUANTILES.map(|percent| (percent, self.quantile(percent)))
    }

    fn quantile(&self, percent: f64) -> u64 {
        let groups = self.groups.iter();
        quantile(groups.map(|group| (group.length, group.documents)), percent)
    }

    /// How many documents have an array of up to 0, 1, 2, 4, 8 … items.
    pub(crate) fn histogram(&self) -> Vec<(u64, u64)> {
        let mut bars = BTreeMap::new();
        for group in &self.groups {
            let up_to = match group.length {
                0 => 0,
                length => length.next_power_of_two(),
            };
            *bars.entry(up_to).or_insert(0) += group.documents;
        }
        bars.into_iter().collect()
    }

    /// The number of documents with a longer array.
    pub(crate) fn above(&self, length: u64) -> u64 {
        self.sums_above(length)[0]
    }

    /// The size of the documents with a longer array.
    pub(crate) fn bytes_above(&self, length: u64) -> u64 {
        self.sums_above(length)[2]
    }

    /// The number of items that exceed this length.
    pub(crate) fn items_beyond(&self, length: u64) -> u64 {
        let [documents, items, _] = self.sums_above(length);
        items - documents * length
    }

    /// The average size of the documents with the median length.
    pub(crate) fn typical_bytes(&self) -> u64 {
        let median = self.median();
        let group = self.groups.iter().find(|group| group.length == median);
        group.map_or(0, |group| group.bytes / group.documents)
    }

    /// The greatest average size of the documents with one length.
    pub(crate) fn largest_bytes(&self) -> u64 {
        let groups = self.groups.iter();
        let sizes = groups.map(|group| group.bytes / group.documents);
        sizes.max().unwrap_or(0)
    }

    /// The length from which on documents hold half of all items; `None` without documents.
    pub(crate) fn half_of_items(&self) -> Option<u64> {
        let all = self.items();
        let at = (0..self.groups.len()).rfind(|at| self.from[*at][1] * 2 >= all)?;
        Some(self.groups[at].length)
    }

    fn sums_above(&self, length: u64) -> [u64; 3] {
        self.sums_from(self.groups.partition_point(|group| group.length <= length))
    }

    fn sums_from(&self, at: usize) -> [u64; 3] {
        self.from.get(at).copied().unwrap_or_default()
    }
}

/// The length of an array, and the bytes of its document.
pub(crate) fn project_length(array: &str) -> Document {
    doc! { "$project": { "length": array_length(array), "bytes": { "$bsonSize": "$$ROOT" } } }
}

/// Counts the documents of each length: their bytes, those of the largest, and how many are large.
pub(crate) fn group_by_length() -> Document {
    let is_large = doc! { "$cond": [{ "$gte": ["$bytes", GROWN as i64] }, 1, 0] };
    doc! { "$group": {
        "_id": "$length", "documents": { "$sum": 1 }, "bytes": { "$sum": "$bytes" },
        "largest": { "$max": "$bytes" }, "large": { "$sum": is_large },
    } }
}

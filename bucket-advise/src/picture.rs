//! What can be drawn of a collection.

use super::figures::{bytes, span, thousands};
use super::measure::capacity::Simulated;
use super::measure::fill::Fill;
use super::measure::growth::{Growth, LargeDocument};
use super::measure::heat::Heat;
use super::measure::keys::ItemsPerKey;
use super::measure::lengths::Lengths;

/// Figures to draw.
#[derive(Debug)]
pub(super) enum Picture {
    /// Items of each key, from the largest to the smallest.
    Keys(KeysPicture),
    /// Each capacity, and what it would do.
    Capacities(CapacitiesPicture),
    /// Lengths of arrays, and thresholds.
    Lengths(LengthsPicture),
    /// How full buckets are.
    Fill(Fill),
    /// When the largest keys got their items.
    Heat(HeatPicture),
    /// Large documents, and their limit.
    Growth(GrowthPicture),
}

/// Items of each key.
#[derive(Debug)]
pub(super) struct KeysPicture {
    pub(super) keys: ItemsPerKey,
    /// Whether all items were counted.
    pub(super) is_exact: bool,
    /// The recommended capacity, unless buckets are windows.
    pub(super) capacity: Option<u64>,
    /// The values of the largest keys, if the report may show them.
    pub(super) names: Vec<String>,
}

/// Capacities side by side.
#[derive(Debug)]
pub(super) struct CapacitiesPicture {
    pub(super) simulated: Vec<Simulated>,
    pub(super) keys: u64,
    /// The number of flat documents.
    pub(super) items: u64,
    pub(super) recommended: u64,
}

/// Lengths of arrays, and thresholds.
#[derive(Debug)]
pub(super) struct LengthsPicture {
    pub(super) lengths: Lengths,
    /// The recommended threshold, or that of the struct.
    pub(super) threshold: Option<u64>,
    pub(super) is_recommended: bool,
    /// A sentence on what was counted, after a space.
    pub(super) remark: &'static str,
}

/// Windows by keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeatPicture {
    pub(super) heat: Heat,
    /// Whether all items were counted, rather than those of a sample.
    pub(super) is_exact: bool,
    /// A sentence on what counts for an item's time, after a space.
    pub(super) remark: &'static str,
}

/// Large documents, and their limit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GrowthPicture {
    /// How many documents are large.
    pub(super) large: u64,
    /// The largest of them, the largest first.
    pub(super) documents: Vec<LargeDocument>,
    /// The time that tells their age, if there is one.
    pub(super) since: Option<String>,
}

impl GrowthPicture {
    /// The growth of the largest document whose age is known.
    pub(super) fn known(&self) -> Option<&Growth> {
        self.documents
            .iter()
            .find_map(|document| document.growth.as_ref())
    }

    /// The field that tells the age of the documents, or the reason why none does.
    pub(super) fn age(&self) -> String {
        match (&self.since, self.known()) {
            (Some(since), Some(_)) => format!("age by {since}"),
            (Some(since), None) => format!("growth is unknown: by {since}, none is a day old"),
            (None, _) => "growth is unknown, since no field tells the age; `--time` names a date of the documents or of \
                          the items"
                .to_owned(),
        }
    }

    /// The heads of the table's columns.
    pub(super) fn head(&self) -> Vec<&'static str> {
        let growth = ["age", "bytes a day", "16 MiB in"].into_iter();
        let growth = growth.filter(|_| self.known().is_some());
        let id = self.has_ids().then_some("_id");
        ["rank", "items", "bytes"]
            .into_iter()
            .chain(growth)
            .chain(id)
            .collect()
    }

    /// A row for each document.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let row = |(rank, document): (u64, &LargeDocument)| {
            let growth = match &document.growth {
                Some(growth) => [
                    span(growth.age_millis()),
                    bytes(growth.bytes_per_day()),
                    span(growth.left_millis()),
                ],
                None => ["unknown"; 3].map(str::to_owned),
            };
            let growth = growth.into_iter().filter(|_| self.known().is_some());
            let size = [
                rank.to_string(),
                thousands(document.items),
                bytes(document.bytes),
            ];
            size.into_iter()
                .chain(growth)
                .chain(document.id.clone())
                .collect()
        };
        (1..).zip(&self.documents).map(row).collect()
    }

    fn has_ids(&self) -> bool {
        self.documents.iter().any(|document| document.id.is_some())
    }
}

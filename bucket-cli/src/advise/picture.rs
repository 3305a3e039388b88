//! What can be drawn of a collection.

use bucket_runtime::Advice;

use super::measure::capacity::Simulated;
use super::measure::fill::Fill;
use super::measure::growth::Growth;
use super::measure::heat::Heat;
use super::measure::keys::ItemsPerKey;

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
    /// The largest document, and its limit.
    Growth(Growth),
}

/// Items of each key.
#[derive(Debug)]
pub(super) struct KeysPicture {
    pub(super) keys: ItemsPerKey,
    /// Whether all items were counted, rather than those of a sample.
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
    pub(super) advice: Advice,
    /// The recommended threshold, or that of the struct.
    pub(super) threshold: Option<u64>,
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

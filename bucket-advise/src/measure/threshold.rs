//! What each threshold would do.

pub(crate) mod rule;

use std::ops::RangeInclusive;

use super::lengths::Lengths;

/// The least and the greatest threshold to compare, besides the chosen one.
const COMPARED: RangeInclusive<u64> = 10..=50_000;

/// A threshold, and what it would do.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) threshold: u64,
    /// The number of documents with more items, and their bytes.
    pub(crate) documents_above: u64,
    pub(crate) bytes_above: u64,
    /// The number of items that would move to extras.
    pub(crate) items_moved: u64,
}

impl Candidate {
    pub(crate) fn of(lengths: &Lengths, threshold: u64) -> Self {
        Self {
            threshold,
            documents_above: lengths.above(threshold),
            bytes_above: lengths.bytes_above(threshold),
            items_moved: lengths.items_beyond(threshold),
        }
    }
}

/// The chosen threshold among the round ones, up to the first that exceeds every array, since
/// greater ones add nothing.
pub(crate) fn candidates(lengths: &Lengths, chosen: Option<u64>) -> Vec<Candidate> {
    let mut thresholds: Vec<u64> = Vec::new();
    for round in round_numbers().filter(|round| COMPARED.contains(round)) {
        thresholds.push(round);
        if lengths.above(round) == 0 {
            break;
        }
    }
    thresholds.extend(chosen);
    thresholds.sort_unstable();
    thresholds.dedup();
    let thresholds = thresholds.into_iter();
    thresholds
        .map(|threshold| Candidate::of(lengths, threshold))
        .collect()
}

/// 1, 2, 5, 10, 20, 50 …
fn round_numbers() -> impl Iterator<Item = u64> {
    (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)))
}

//! The rule that finds a threshold.
//!
//! A threshold pays where it sets a few documents apart that are far longer than all others. A
//! document just above it pays for the pattern, by a flag and a second query, and gains nothing. So
//! the rule looks for a
//! **gap**: of the documents that exceed the threshold, at most one in eight is within its double. That compares
//! documents with their neighbours, not with all documents, so 30 documents get the answer that 30
//! million of the same kind get: a fixed share of outliers, say one in a hundred, can never be met
//! by 30 documents, and is always met somewhere by 30 million. The eighth allows for the stray
//! documents that a large collection has in any gap.
//!
//! Some lengths fall off without a gap, as fame does. Then the rule asks for the **tail**: the
//! longest documents that hold half of all items. If those are few, the place where they begin is
//! the threshold. Among lengths without a tail (all alike, even, falling off fast), half of the
//! items take far more documents.
//!
//! In both cases the documents above the threshold are a minority, and large enough to be worth a
//! second query; of huge ones, half of all are a minority. Where the typical document is huge
//! itself, no threshold helps, and the items should be stored by the bucket pattern.

use super::round_numbers;
use crate::measure::lengths::Lengths;
use crate::shape::value::HUGE_BYTES;

/// A threshold below this one saves nothing.
const LEAST: u64 = 10;

/// Fewer documents do not tell which lengths are typical.
const FEW: u64 = 5;

/// The documents above the threshold are at most one in this many (or one document).
const MINORITY: u64 = 10;

/// Of the documents above the threshold, at most one in this many is within its double.
const STRAYS: u64 = 8;

/// The documents above the threshold have at least this size on average. Two of half that size
/// share a page of memory, so they cost hardly more than a small one.
const WORTHWHILE_BYTES: u64 = 4096;

/// The shape of the distribution of array lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Distribution {
    /// A few documents are far longer than all others, and hardly any are between: this threshold
    /// sets them apart.
    Gap(u64),
    /// The lengths fall off without a gap, but the few documents above this threshold hold half of
    /// the items.
    Tail(u64),
    /// No few documents stand out.
    Even,
    /// The longest documents are too small to be worth a second query.
    Small,
    /// The typical document is large itself: the items belong in buckets.
    Huge,
    /// There are too few documents to tell which are typical.
    Few,
}

impl Distribution {
    pub(crate) fn of(lengths: &Lengths) -> Self {
        if lengths.typical_bytes() >= HUGE_BYTES {
            return Self::Huge;
        }
        if lengths.documents() < FEW && lengths.largest_bytes() < HUGE_BYTES {
            return Self::Few;
        }
        let threshold = gap(lengths).map(Self::Gap);
        let threshold = threshold.or_else(|| tail(lengths).map(Self::Tail));
        threshold.unwrap_or(match lengths.largest_bytes() < WORTHWHILE_BYTES {
            true => Self::Small,
            false => Self::Even,
        })
    }

    /// The recommended threshold; `None` if the pattern would gain nothing.
    pub(crate) fn threshold(self) -> Option<u64> {
        match self {
            Self::Gap(threshold) | Self::Tail(threshold) => Some(threshold),
            Self::Even | Self::Small | Self::Huge | Self::Few => None,
        }
    }
}

/// The least threshold with a gap above it; a round number if one lies in the gap.
fn gap(lengths: &Lengths) -> Option<u64> {
    let is_gap = |threshold: u64| {
        let (above, far) = (lengths.above(threshold), lengths.above(threshold * 2));
        (above - far) * STRAYS <= above && is_worthwhile(lengths, threshold)
    };
    let places = lengths.distinct().filter(|length| *length > LEAST);
    let least = [LEAST].into_iter().chain(places).find(|at| is_gap(*at))?;
    Some(round(least)).filter(|at| is_gap(*at)).or(Some(least))
}

/// The length from which on few documents hold half of all items, or a rounder one just below.
fn tail(lengths: &Lengths) -> Option<u64> {
    let before = lengths.half_of_items()?.max(LEAST + 1) - 1;
    let mut places = [rounded_down(before), before].into_iter();
    places.find(|threshold| is_worthwhile(lengths, *threshold))
}

/// Whether few documents exceed the threshold, and large ones, or huge ones that are half of all at
/// most.
fn is_worthwhile(lengths: &Lengths, threshold: u64) -> bool {
    let (above, bytes) = (lengths.above(threshold), lengths.bytes_above(threshold));
    let is_at_most = |share: u64| above == 1 || above.saturating_mul(share) <= lengths.documents();
    let is_large = bytes >= WORTHWHILE_BYTES * above && is_at_most(MINORITY);
    above > 0 && (is_large || bytes >= HUGE_BYTES * above && is_at_most(2))
}

/// The first of 1, 2, 5, 10, 20, 50 … that is not below the number.
fn round(number: u64) -> u64 {
    round_numbers()
        .find(|round| *round >= number)
        .unwrap_or(number)
}

/// The number with its first digit alone, or with its second one after a 1: 300, and 190.
fn rounded_down(number: u64) -> u64 {
    let power = 10_u64.pow(number.checked_ilog10().unwrap_or(0));
    let step = if number / power == 1 {
        power.div_ceil(10)
    } else {
        power
    };
    number / step * step
}

#[cfg(test)]
mod tests {
    use super::Distribution;
    use crate::measure::lengths::{LengthGroup, Lengths};

    /// The distribution of arrays of these lengths, each with its number of arrays; an item takes
    /// 20 bytes.
    fn found(lengths: impl IntoIterator<Item = (u64, u64)>) -> Distribution {
        let groups = lengths.into_iter().map(|(length, documents)| LengthGroup {
            length,
            documents,
            bytes: documents * (100 + length * 20),
        });
        Distribution::of(&Lengths::of(groups))
    }

    /// The answer is one for a collection and for a million such collections.
    fn at_any_size(lengths: &[(u64, u64)]) -> Distribution {
        let small = found(lengths.iter().copied());
        let large = lengths.iter().map(|(length, n)| (*length, n * 1_000_000));
        assert_eq!(found(large), small);
        small
    }

    #[test]
    fn one_giant_among_few() {
        let books: Vec<_> = (1..30).map(|n| (n, 1)).chain([(1200, 1)]).collect();
        assert_eq!(at_any_size(&books), Distribution::Gap(50));
    }

    #[test]
    fn a_giant_just_above_the_rest_gets_a_threshold_that_is_not_round() {
        let lengths = [(90, 20), (110, 20), (230, 1), (1000, 1)];
        assert_eq!(at_any_size(&lengths), Distribution::Gap(110));
    }

    #[test]
    fn strays_in_the_gap_of_a_large_collection() {
        let typical = (0..50).map(|n| (n, 100_000));
        let strays = (50..5000).step_by(50).map(|n| (n, 1));
        let giants = [(5000, 900), (20_000, 100)];
        let all = typical.chain(strays).chain(giants);
        assert_eq!(found(all), Distribution::Gap(50));
    }

    #[test]
    fn a_heavy_tail() {
        // The lengths of 2^20 documents: half have 10 items, a quarter 20, an eighth 40 …
        let fame: Vec<_> = (0..20).map(|n| (10 << n, 1 << (19 - n))).collect();
        let found = at_any_size(&fame);
        assert!(
            matches!(found, Distribution::Tail(1000..=20_000)),
            "{found:?}"
        );
    }

    #[test]
    fn one_short_array_is_no_tail() {
        assert_eq!(at_any_size(&[(0, 4), (2, 1)]), Distribution::Small);
    }

    #[test]
    fn lengths_that_fall_off_fast_have_no_tail() {
        // Half have 10 items, a quarter 20, an eighth 30 …
        let fast: Vec<_> = (0..20).map(|n| (10 * (n + 1), 1 << (19 - n))).collect();
        assert_eq!(found(fast), Distribution::Even);
        assert_eq!(found((1..1000).map(|n| (n, 1))), Distribution::Even);
    }

    #[test]
    fn all_alike() {
        assert_eq!(at_any_size(&[(40, 30)]), Distribution::Small);
        assert_eq!(at_any_size(&[(400, 30)]), Distribution::Even);
        assert_eq!(at_any_size(&[(400, 29), (401, 1)]), Distribution::Even);
    }

    #[test]
    fn two_groups_are_not_outliers() {
        assert_eq!(at_any_size(&[(10, 50), (1000, 50)]), Distribution::Even);
        assert_eq!(at_any_size(&[(10, 95), (1000, 5)]), Distribution::Gap(10));
    }

    #[test]
    fn all_huge() {
        let huge: Vec<_> = (5..30).map(|n| (n * 1000, 1)).collect();
        assert_eq!(at_any_size(&huge), Distribution::Huge);
    }

    #[test]
    fn huge_ones_that_are_fewer_than_half() {
        assert_eq!(at_any_size(&[(0, 30), (20_000, 5)]), Distribution::Gap(10));
        assert_eq!(at_any_size(&[(3, 60), (4000, 40)]), Distribution::Gap(10));
        assert_eq!(at_any_size(&[(3, 40), (4000, 60)]), Distribution::Huge);
        assert_eq!(found([(0, 2), (50_000, 1)]), Distribution::Gap(10));
    }

    #[test]
    fn a_giant_that_is_small_is_left_alone() {
        assert_eq!(at_any_size(&[(1, 29), (30, 1)]), Distribution::Small);
    }

    #[test]
    fn few_documents_do_not_tell() {
        assert_eq!(found([(1, 3), (1000, 1)]), Distribution::Few);
        assert_eq!(found([(1, 4), (1000, 1)]), Distribution::Gap(10));
        assert_eq!(found([]), Distribution::Few);
    }

    #[test]
    fn most_arrays_empty() {
        assert_eq!(found([(0, 95), (3000, 5)]), Distribution::Gap(10));
    }
}

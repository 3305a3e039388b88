//! G1 to G5.

use std::collections::BTreeMap;

use super::Verdict;
use crate::{history::History, stored::StoredBucket};

/// The expected format of a collection's buckets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    pub(crate) capacity: usize,
    pub(crate) moment: Moment,
}

/// The last part of a bucket's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Seconds,
    Millis,
    /// Windows of this many milliseconds.
    Window(i64),
    Number,
}

/// Compares what callers saw with the buckets, given in the order of their ids.
pub(crate) fn buckets(history: &History, stored: &[StoredBucket], format: Format) -> Verdict {
    let mut items = BTreeMap::<i64, Vec<i64>>::new();
    for bucket in stored {
        let numbers = bucket.items.iter().map(|item| item.n);
        items.entry(bucket.key).or_default().extend(numbers);
    }
    let mut verdict = Verdict::of_items(history, &items);
    verdict.of_buckets(stored, format);
    if format.moment == Moment::Number {
        verdict.in_order("G5: order of creation", history, &items);
    }
    verdict
}

impl Verdict {
    /// G2, G3 and G5, for buckets from which nothing was ever removed.
    pub(super) fn of_buckets(&mut self, stored: &[StoredBucket], format: Format) {
        let mut lanes = BTreeMap::<(i64, Option<i64>), Vec<&StoredBucket>>::new();
        for bucket in stored {
            let (length, example) = (bucket.items.len(), || format!("{bucket:?}"));
            let is_counted = bucket.count == length as i64;
            self.require(is_counted, "G2: count is the length", example);
            let is_within = (1..=format.capacity).contains(&length);
            self.require(is_within, "G2: within capacity", example);
            self.require(!bucket.sealed, "G3: nothing is sealed", example);
            let fits = format.moment.fits(bucket);
            self.require(fits, "G5: the id is that of the items", example);
            let lane = lanes.entry((bucket.key, bucket.window));
            lane.or_default().push(bucket);
        }
        for (lane, of_lane) in &lanes {
            let counts = || of_lane.iter().map(|bucket| bucket.items.len());
            let example = || format!("{lane:?}: {:?}", Vec::from_iter(counts()));
            let open = counts().filter(|count| *count < format.capacity).count();
            self.require(open <= 1, "G3: one open bucket", example);
            let needed = counts().sum::<usize>().div_ceil(format.capacity);
            self.require(of_lane.len() == needed, "G3: as few as can be", example);
            if format.moment == Moment::Number {
                self.numbered_densely(of_lane, format);
            }
        }
    }

    /// Numbers go up from 0 without a gap, so that page n is found by its id, and all buckets but the
    /// last are full.
    fn numbered_densely(&mut self, of_key: &[&StoredBucket], format: Format) {
        for (number, bucket) in of_key.iter().enumerate() {
            let id = format!("{}_{number:010}", bucket.key);
            let example = || format!("{bucket:?}, whose id is to be {id:?}");
            self.require(bucket.id == id, "G5: numbers without a gap", example);
            let is_last = number + 1 == of_key.len();
            let is_full = bucket.items.len() == format.capacity;
            self.require(is_last || is_full, "G5: full but the last", example);
        }
    }
}

impl Moment {
    /// Whether a bucket has the id of its first item, or of its window.
    fn fits(self, bucket: &StoredBucket) -> bool {
        let first = bucket.items.first().map_or(0, |item| item.at);
        let text = match self {
            Self::Seconds => format!("{:010}", first.div_euclid(1000)),
            Self::Millis => format!("{first:013}"),
            Self::Window(length) => {
                let start = first.div_euclid(length) * length;
                let is_in = |at: i64| at.div_euclid(length) * length == start;
                if bucket.window != Some(start) || !bucket.items.iter().all(|item| is_in(item.at)) {
                    return false;
                }
                format!("{:010}", start / 1000)
            }
            Self::Number => return true,
        };
        let id = format!("{}_{text}", bucket.key);
        let rest = bucket.id.strip_prefix(&id);
        rest.is_some_and(|rest| rest.is_empty() || is_suffix(rest))
    }
}

/// Whether this is the suffix, such as `_000001`, of one of several buckets of one moment.
fn is_suffix(text: &str) -> bool {
    let digits = text.strip_prefix('_').unwrap_or_default();
    digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

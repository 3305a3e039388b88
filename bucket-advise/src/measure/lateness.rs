//! Whether items come in the order of their time.

use std::collections::HashMap;

/// So many keys are told apart.
const MAX_KEYS: usize = 100_000;

/// How late items come, within each key.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Lateness {
    pub(crate) items: u64,
    /// How many items are older than an item of their key that came before.
    pub(crate) late: u64,
    /// By how many milliseconds an item comes late at most.
    pub(crate) latest_millis: i64,
    /// The most items that one key has in one minute.
    pub(crate) busiest_minute: u64,
    /// The time from the first to the last item in milliseconds.
    pub(crate) span_millis: i64,
}

impl Lateness {
    /// The lateness of items, each with its key and its time in milliseconds, in the order in which
    /// they came.
    pub(crate) fn of(items: impl IntoIterator<Item = (u64, i64)>) -> Self {
        let mut lateness = Self::default();
        let mut newest: HashMap<u64, i64> = HashMap::new();
        let mut minutes: HashMap<(u64, i64), u64> = HashMap::new();
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for (key, time) in items {
            lateness.items += 1;
            (first, last) = (first.min(time), last.max(time));
            let minute = minutes.entry((key, time.div_euclid(60_000))).or_default();
            *minute += 1;
            lateness.busiest_minute = lateness.busiest_minute.max(*minute);
            if newest.len() == MAX_KEYS && !newest.contains_key(&key) {
                continue;
            }
            let newest = newest.entry(key).or_insert(time);
            if time < *newest {
                lateness.late += 1;
                lateness.latest_millis = lateness.latest_millis.max(*newest - time);
            }
            *newest = time.max(*newest);
        }
        lateness.span_millis = last.saturating_sub(first).max(0);
        lateness
    }

    /// Whether more than one item in a hundred comes late.
    pub(crate) fn is_disordered(&self) -> bool {
        self.late * 100 > self.items
    }
}

#[cfg(test)]
mod tests {
    use super::Lateness;

    #[test]
    fn an_item_is_late_only_within_its_key() {
        let items = [(1, 0), (2, 5000), (1, 1000), (2, 4000), (1, 61_000)];
        let lateness = Lateness::of(items);
        assert_eq!(
            (lateness.items, lateness.late, lateness.latest_millis),
            (5, 1, 1000)
        );
        assert_eq!((lateness.busiest_minute, lateness.span_millis), (2, 61_000));
        assert!(lateness.is_disordered());
        assert_eq!(Lateness::of([]), Lateness::default());
    }
}

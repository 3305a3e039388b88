//! What each capacity would do.

use super::keys::ItemsPerKey;

/// The capacities to compare.
const CAPACITIES: [u64; 8] = [10, 20, 50, 100, 200, 500, 1000, 2000];

/// The capacities of a curve.
const CURVE: [u64; 18] = [
    5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000,
];

/// A larger capacity is not recommended: loads and reads gain little more.
const GREATEST: u64 = 1000;

/// The maximum bytes of a full bucket, since each read of a page and each append moves all of them.
const FULL_BYTES: u64 = 256 * 1024;

/// The bytes of a bucket beside its items: id, key, count and array.
pub(crate) const FRAME: u64 = 120;

/// The bytes of an item beside its fields: its place in the array.
pub(crate) const PLACE: u64 = 6;

/// A capacity, and what it would do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Simulated {
    pub(crate) capacity: u64,
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
    pub(crate) full_bytes: u64,
    /// How much of the buckets' room is taken, in percent.
    pub(crate) fill: u64,
    /// How many keys have a single bucket.
    pub(crate) single: u64,
}

impl Simulated {
    /// Whether a full bucket takes more bytes than it should.
    pub(crate) fn is_large(&self) -> bool {
        self.full_bytes > FULL_BYTES
    }
}

/// The capacities side by side, up to the first with which every key has a single bucket.
pub(crate) fn simulate(keys: &ItemsPerKey, item_bytes: u64, wanted: Option<u64>) -> Vec<Simulated> {
    simulate_each(&CAPACITIES, keys, item_bytes, wanted)
}

/// More capacities side by side, to draw, among them this one.
pub(crate) fn curve(keys: &ItemsPerKey, item_bytes: u64, capacity: u64) -> Vec<Simulated> {
    simulate_each(&CURVE, keys, item_bytes, Some(capacity))
}

fn simulate_each(
    capacities: &[u64],
    keys: &ItemsPerKey,
    item_bytes: u64,
    wanted: Option<u64>,
) -> Vec<Simulated> {
    let mut capacities = capacities.to_vec();
    let enough = capacities
        .iter()
        .position(|capacity| *capacity >= keys.most());
    capacities.truncate(enough.map_or(capacities.len(), |last| last + 1));
    capacities.extend(wanted);
    capacities.sort_unstable();
    capacities.dedup();
    let simulated = capacities.into_iter().map(|capacity| {
        let documents = keys.buckets(capacity);
        let room = documents * capacity;
        Simulated {
            capacity,
            documents,
            bytes: documents * FRAME + keys.items() * (item_bytes + PLACE),
            full_bytes: FRAME + capacity * (item_bytes + PLACE),
            fill: (keys.items() * 100).checked_div(room).unwrap_or(0),
            single: keys.keys_within(capacity),
        }
    });
    simulated.collect()
}

/// The recommended capacity: the next larger one would save less than a third of the documents, or
/// its buckets would be large. Of a larger bucket every page reads more, and only fewer documents
/// repay that.
pub(crate) fn recommended(simulated: &[Simulated]) -> Option<Simulated> {
    let next_pays = |pair: &&[Simulated]| {
        let [now, next] = pair else { return false };
        next.capacity <= GREATEST
            && !next.is_large()
            && (now.documents - next.documents.min(now.documents)) * 3 >= now.documents
    };
    let steps = simulated.windows(2).take_while(next_pays).count();
    simulated.get(steps).copied()
}

#[cfg(test)]
mod tests {
    use super::{recommended, simulate};
    use crate::measure::keys::ItemsPerKey;

    fn capacity(groups: &[(u64, u64)], item_bytes: u64) -> u64 {
        let keys = ItemsPerKey::of(groups.iter().copied());
        recommended(&simulate(&keys, item_bytes, None)).map_or(0, |best| best.capacity)
    }

    #[test]
    fn long_series_take_large_buckets_of_bounded_bytes() {
        assert_eq!(capacity(&[(1_000_000, 10)], 40), 1000);
        assert_eq!(capacity(&[(1_000_000, 10)], 1000), 200);
    }

    #[test]
    fn short_series_take_small_buckets() {
        assert_eq!(capacity(&[(15, 1000)], 40), 20);
        assert_eq!(capacity(&[(3, 1000)], 40), 10);
    }

    #[test]
    fn each_capacity_is_simulated_on_all_keys() {
        let keys = ItemsPerKey::of([(25, 2), (5, 1)]);
        let simulated = simulate(&keys, 44, Some(25));
        let documents: Vec<_> = simulated
            .iter()
            .map(|of| (of.capacity, of.documents, of.single))
            .collect();
        assert_eq!(documents, [(10, 7, 1), (20, 5, 1), (25, 3, 3), (50, 3, 3)]);
        assert_eq!(
            (simulated[0].fill, simulated[0].bytes),
            (78, 7 * 120 + 55 * 50)
        );
    }
}

//! The guarantees, as predicates on one state of the system.
//!
//! G4 concerns the ids of different keys, and the model has a single key. G6 holds if the other guarantees do,
//! since a writer may crash at every step.

use crate::{
    server::Item,
    system::{Config, System},
};

/// The most items that a writer has.
pub(crate) const ITEMS: u8 = 8;

type Property = (&'static str, fn(&System, &Config) -> bool);

pub(crate) const PROPERTIES: [Property; 7] = [
    (
        "G1: an acknowledged item is stored once, any other at most once",
        once,
    ),
    ("G1: what is said not to be stored is not stored", truthful),
    ("G2: the count is the length, within the capacity", counts),
    ("G3: at most one bucket is open", one_open),
    ("G5: numbers are given in the order of creation", creation),
    (
        "G5: a writer's items are in the order of their acknowledgement",
        order,
    ),
    (
        "Watch: a change stream can tell each append from a removal",
        |system, _| !system.server.is_untold,
    ),
];

/// The first guarantee that this state breaks.
pub(crate) fn broken(system: &System, config: &Config) -> Option<&'static str> {
    let broken = PROPERTIES.iter().find(|(_, holds)| !holds(system, config));
    broken.map(|(name, _)| *name)
}

fn once(system: &System, _: &Config) -> bool {
    let mut stored = [0; 32];
    for item in in_order(system) {
        stored[usize::from(item)] += 1;
    }
    (0..).zip(stored).all(|(item, times)| match times {
        0 => !system.is_acknowledged(item) || system.is_removed(item),
        times => times == 1,
    })
}

fn truthful(system: &System, _: &Config) -> bool {
    in_order(system).all(|item| !system.is_refused(item))
}

fn counts(system: &System, config: &Config) -> bool {
    let mut buckets = system.server.buckets.iter();
    buckets.all(|bucket| {
        usize::from(bucket.count) == bucket.items.len() && bucket.count <= config.rules.capacity
    })
}

fn one_open(system: &System, config: &Config) -> bool {
    let buckets = system.server.buckets.iter();
    buckets
        .filter(|bucket| bucket.is_open(&config.rules))
        .count()
        <= 1
}

fn creation(system: &System, config: &Config) -> bool {
    config.by_time || system.server.buckets.is_sorted_by_key(|bucket| bucket.nth)
}

fn order(system: &System, config: &Config) -> bool {
    // The nth item of a call, or the nth call.
    let place = |item: Item| match config.unordered {
        false => item % ITEMS,
        true => config.call_of(item),
    };
    let stored = in_order(system).filter(|item| system.is_acknowledged(*item));
    let mut last = vec![None; config.writers.len()];
    for item in stored {
        let last: &mut Option<u8> = &mut last[usize::from(item / ITEMS)];
        let place = place(item);
        if last.replace(place).is_some_and(|last| last > place) {
            return false;
        }
    }
    true
}

/// The items in reading order: those of each bucket in the order of creation.
fn in_order(system: &System) -> impl Iterator<Item = Item> {
    let mut buckets: Vec<_> = system.server.buckets.iter().collect();
    buckets.sort_unstable_by_key(|bucket| bucket.nth);
    buckets
        .into_iter()
        .flat_map(|bucket| bucket.items.iter().copied())
}

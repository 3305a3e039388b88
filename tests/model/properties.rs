//! The guarantees, as predicates on one state of the system.
//!
//! G4 concerns the ids of different keys, and the model has a single key. G6 holds, for outliers as
//! well, if the other guarantees do, since a writer may crash at every step.

use crate::{
    server::{Item, identity_of},
    system::{Config, System},
};

/// The most items that a writer has.
pub(crate) const ITEMS: u8 = 8;

type Property = (&'static str, fn(&System, &Config) -> bool);

pub(crate) const PROPERTIES: [Property; 12] = [
    (
        "G1/O1: an acknowledged item is stored once, any other at most once",
        once,
    ),
    (
        "G1/O1: what is said not to be stored is not stored",
        truthful,
    ),
    (
        "G2/O4: the count is the length, within the capacity",
        counts,
    ),
    ("G3/O4: at most one bucket is open", one_open),
    (
        "G5/O4: numbers are given in the order of creation",
        creation,
    ),
    (
        "G5/O5: a writer's items are in the order of their acknowledgement",
        order,
    ),
    ("O2: the parent's array is within the threshold", threshold),
    (
        "O1: no push that begins after an acknowledged deletion is stored",
        not_late,
    ),
    ("O3: there are extras only where the flag is set", flagged),
    (
        "Identity: a parent holds at most one item of each",
        one_of_each,
    ),
    ("Edits: an acknowledged change is not lost", changed),
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
    config.by_time
        || is_deleted(system, config)
        || system.server.buckets.is_sorted_by_key(|bucket| bucket.nth)
}

fn order(system: &System, config: &Config) -> bool {
    if is_deleted(system, config) {
        return true;
    }
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

fn threshold(system: &System, config: &Config) -> bool {
    let parent = system.server.parent.as_ref();
    parent.is_none_or(|parent| parent.items.len() <= config.rules.threshold.into())
}

fn flagged(system: &System, config: &Config) -> bool {
    let parent = system.server.parent.as_ref();
    !config.has_parent
        || system.server.buckets.is_empty()
        || parent.map_or(is_deleted(system, config), |parent| parent.flag)
}

/// Whether the parent is deleted, so that nobody reads what is left of its extras.
fn is_deleted(system: &System, config: &Config) -> bool {
    config.deletes() && system.server.parent.is_none()
}

fn not_late(system: &System, _: &Config) -> bool {
    in_order(system).all(|item| !system.is_late(item))
}

fn one_of_each(system: &System, config: &Config) -> bool {
    let mut held = [false; ITEMS as usize];
    let mut is_first = |item| !std::mem::replace(&mut held[usize::from(identity_of(item))], true);
    !config.rules.has_identity || in_order(system).all(&mut is_first)
}

fn changed(system: &System, _: &Config) -> bool {
    let versions = system.server.versions.iter();
    versions
        .zip(&system.replaced)
        .all(|(version, changes)| version >= changes)
}

/// The items in reading order: the parent's, then those of each bucket in the order of creation.
fn in_order(system: &System) -> impl Iterator<Item = Item> {
    let mut buckets: Vec<_> = system.server.buckets.iter().collect();
    buckets.sort_unstable_by_key(|bucket| bucket.nth);
    let parent = system.server.parent.iter().flat_map(|parent| &parent.items);
    parent
        .chain(buckets.into_iter().flat_map(|bucket| &bucket.items))
        .copied()
}

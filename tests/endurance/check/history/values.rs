//! The values of items, which edits replace.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Anomaly, Rule,
    facts::{ItemFacts, KeyFacts, Write},
};
use crate::history::Way;

pub(super) fn check(facts: &KeyFacts<'_>) -> Vec<Anomaly> {
    let mut anomalies = Vec::new();
    let mut values = BTreeMap::<i64, SeenValues>::new();
    for sighting in &facts.sightings {
        for item in sighting.items.iter() {
            let of_item = &facts.items[&item.n];
            if of_item.adds.is_empty() {
                continue;
            }
            let mut add = |rule| {
                let example = format!("{item:?} in a read that began at {:?}", sighting.begin);
                anomalies.push(facts.anomaly(rule, sighting.way, example));
            };
            if sighting.way == Way::Watch {
                let is_added = of_item.adds.iter().any(|add| add.value == item.value);
                if !is_added {
                    add(Rule::UnknownValue);
                }
                continue;
            }
            let Some(write) = of_item.write_of(item.value) else {
                add(Rule::UnknownValue);
                continue;
            };
            if of_item.is_replaced(write, sighting.begin) {
                add(Rule::EditLost);
            }
            let seen = values.entry(item.n).or_default();
            if seen.note(item.value, sighting.begin, sighting.end) {
                add(Rule::ValueCameBack);
            }
        }
    }
    anomalies
}

impl ItemFacts {
    fn writes(&self) -> impl Iterator<Item = &Write> {
        self.adds.iter().chain(&self.edits)
    }

    fn write_of(&self, value: i64) -> Option<&Write> {
        self.writes().find(|write| write.value == value)
    }

    /// Whether another write certainly came after this one, and before this moment.
    fn is_replaced(&self, write: &Write, before: Duration) -> bool {
        let certain = self.writes().filter(|other| other.is_certain);
        let mut later = certain.filter(|other| other.begin > write.end);
        write.is_certain && later.any(|other| other.end < before)
    }
}

/// The values of one item that reads have shown so far, in the order in which the reads began.
#[derive(Default)]
struct SeenValues(BTreeMap<i64, SeenValue>);

#[derive(Clone, Copy)]
struct SeenValue {
    /// The end of the first read that showed it.
    seen: Duration,
    /// The end of the first read that showed another value after that.
    replaced: Option<Duration>,
}

impl SeenValues {
    /// Notes what a read showed; returns whether another value had replaced it before.
    fn note(&mut self, value: i64, begin: Duration, end: Duration) -> bool {
        for (other, seen) in &mut self.0 {
            if *other != value && seen.seen < begin {
                seen.replaced = Some(seen.replaced.map_or(end, |before| before.min(end)));
            }
        }
        let first = SeenValue {
            seen: end,
            replaced: None,
        };
        let seen = self.0.entry(value).or_insert(first);
        seen.seen = seen.seen.min(end);
        seen.replaced.is_some_and(|replaced| replaced < begin)
    }
}

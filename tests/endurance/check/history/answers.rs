//! The answers of edits and removals.

use std::{collections::BTreeMap, time::Duration};

use super::{Anomaly, Rule, facts::KeyFacts};
use crate::history::{Answer, Call, Change, Operation};

pub(super) fn check(facts: &KeyFacts<'_>, operations: &[&Operation]) -> Vec<Anomaly> {
    let mut anomalies = Vec::new();
    let mut taken = BTreeMap::<i64, Duration>::new();
    for (nth, operation) in operations.iter().enumerate() {
        let (change, is_removal) = match &operation.call {
            Call::Edit(change, _) => (change, false),
            Call::Remove(change) => (change, true),
            _ => continue,
        };
        if change.answer != Answer::Acknowledged {
            continue;
        }
        let there = change.numbers.iter().filter(|n| {
            let of_item = &facts.items[n];
            let mut others = (of_item.removals.iter()).filter(|removal| removal.call != nth);
            of_item.was_known_before(operation.begin)
                && !others.any(|removal| removal.begin < operation.end)
        });
        let there = there.count();
        let example = || format!("{there} items were there for {operation:?}");
        if there > change.found {
            anomalies.push(facts.anomaly(Rule::NotFound, None, example()));
        }
        if let Some(n) = taken_one(change).filter(|_| is_removal)
            && let Some(before) = taken.insert(n, operation.end)
            && facts.items[&n].adds.len() == 1
        {
            let example = format!("item {n}: until {before:?}, and by {operation:?}");
            anomalies.push(facts.anomaly(Rule::RemovedTwice, None, example));
        }
    }
    anomalies
}

/// The item of a change of one item that found it.
fn taken_one(change: &Change) -> Option<i64> {
    match change.numbers[..] {
        [n] if change.found == 1 => Some(n),
        _ => None,
    }
}

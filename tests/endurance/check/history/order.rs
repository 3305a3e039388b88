//! The order of the items, as all reads show it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    Anomaly, ReadOrder, Rule,
    facts::{KeyFacts, Sighting, Write},
};
use crate::history::Way;

pub(super) fn check(facts: &KeyFacts<'_>) -> Vec<Anomaly> {
    let mut anomalies = Vec::new();
    anomalies.extend(check_one_order(facts));
    if facts.order == ReadOrder::AsStored {
        anomalies.extend(check_beginnings(facts));
        for sighting in &facts.sightings {
            anomalies.extend(check_order_of_calls(facts, sighting));
        }
    }
    anomalies
}

/// The numbers of what was seen, each once, without items whose place may have changed.
fn numbers(facts: &KeyFacts<'_>, sighting: &Sighting<'_>) -> Vec<i64> {
    let mut seen = BTreeSet::new();
    let numbers = sighting.items.iter().map(|item| item.n);
    numbers
        .filter(|n| !facts.items[n].may_be_new_again() && seen.insert(*n))
        .collect()
}

/// A watch gives items as they are stored, and says nothing about another order.
fn shows_order(facts: &KeyFacts<'_>, sighting: &Sighting<'_>) -> bool {
    sighting.way != Way::Watch || facts.order == ReadOrder::AsStored
}

/// Whether there is an order that fits all reads: neighbours in any read are in that order, so no chain of
/// neighbours leads back to its beginning.
fn check_one_order(facts: &KeyFacts<'_>) -> Option<Anomaly> {
    let mut after = BTreeMap::<i64, BTreeSet<i64>>::new();
    let mut waits_for = BTreeMap::<i64, usize>::new();
    for sighting in facts.sightings.iter().filter(|s| shows_order(facts, s)) {
        let numbers = numbers(facts, sighting);
        for n in &numbers {
            waits_for.entry(*n).or_default();
        }
        for pair in numbers.windows(2) {
            if after.entry(pair[0]).or_default().insert(pair[1]) {
                *waits_for.entry(pair[1]).or_default() += 1;
            }
        }
    }
    let free = waits_for.iter().filter(|(_, count)| **count == 0);
    let mut free: Vec<i64> = free.map(|(n, _)| *n).collect();
    while let Some(n) = free.pop() {
        waits_for.remove(&n);
        for next in after.get(&n).into_iter().flatten() {
            if let Some(count) = waits_for.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    free.push(*next);
                }
            }
        }
    }
    let some: Vec<_> = waits_for.keys().take(5).collect();
    let example = || format!("no order of items {some:?} … fits all reads");
    (!some.is_empty()).then(|| facts.anomaly(Rule::OrdersDiffer, None, example()))
}

/// Where nothing is removed, each read is the beginning of each longer one.
fn check_beginnings(facts: &KeyFacts<'_>) -> Option<Anomaly> {
    if facts.items.values().any(|item| !item.removals.is_empty()) {
        return None;
    }
    let lists = facts.sightings.iter().filter(|s| s.way != Way::OnePage);
    let mut lists: Vec<_> = lists.map(|s| (numbers(facts, s), s.way)).collect();
    lists.sort_by_key(|(list, _)| list.len());
    lists.windows(2).find_map(|pair| {
        let ((shorter, one), (longer, other)) = (&pair[0], &pair[1]);
        let at = shorter.iter().zip(longer).position(|(a, b)| a != b)?;
        let (a, b) = (shorter[at], longer[at]);
        let example = format!("at index {at} is {a}, and in a longer read ({other:?}) {b}");
        Some(facts.anomaly(Rule::NotABeginning, *one, example))
    })
}

/// If an item was acknowledged before another one was sent, it comes first; and so do the items of one call.
fn check_order_of_calls(facts: &KeyFacts<'_>, sighting: &Sighting<'_>) -> Option<Anomaly> {
    let mut last_sent: Option<(Duration, i64)> = None;
    let mut last_of_call = BTreeMap::<usize, (usize, i64)>::new();
    for n in numbers(facts, sighting) {
        let [add] = facts.items[&n].adds.as_slice() else {
            continue;
        };
        let Write {
            place: (call, index),
            begin,
            end,
            is_certain: true,
            ..
        } = *add
        else {
            continue;
        };
        let of_call = last_of_call.insert(call, (index, n));
        let sent_later = last_sent.filter(|(sent, _)| *sent > end).map(|(_, n)| n);
        let later_in_call = of_call.filter(|(before, _)| *before > index);
        if let Some(first) = sent_later.or(later_in_call.map(|(_, n)| n)) {
            let example = format!("item {first} was sent after item {n}, and is read before it");
            return Some(facts.anomaly(Rule::OutOfOrder, sighting.way, example));
        }
        if last_sent.is_none_or(|(sent, _)| sent < begin) {
            last_sent = Some((begin, n));
        }
    }
    None
}

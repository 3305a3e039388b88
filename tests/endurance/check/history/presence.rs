//! Which items a read must give, and which it must not.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    Anomaly, Rule,
    facts::{ItemFacts, KeyFacts, Sighting},
};
use crate::history::Way;

pub(super) fn check(facts: &KeyFacts<'_>) -> Vec<Anomaly> {
    let mut anomalies = Vec::new();
    let missing_since = missing_since(facts);
    for sighting in &facts.sightings {
        let mut seen = BTreeSet::new();
        for item in sighting.items.iter() {
            let n = item.n;
            let of_item = &facts.items[&n];
            let missing_since = missing_since.get(&n).copied();
            let wrong = match seen.insert(n) {
                false => is_doubled(of_item, sighting).then_some(Rule::Doubled),
                true => wrongly_seen(of_item, missing_since, sighting),
            };
            let example = || format!("item {n} is in {}", describe(sighting));
            anomalies.extend(wrong.map(|rule| facts.anomaly(rule, sighting.way, example())));
        }
        for (n, of_item) in &facts.items {
            if seen.contains(n) {
                continue;
            }
            let example = || format!("item {n} is not in {}", describe(sighting));
            let wrong = wrongly_missing(of_item, sighting);
            anomalies.extend(wrong.map(|rule| facts.anomaly(rule, sighting.way, example())));
        }
    }
    anomalies
}

/// An item is given twice only where a read takes time, and the item was removed and added meanwhile.
fn is_doubled(of_item: &ItemFacts, sighting: &Sighting<'_>) -> bool {
    sighting.way == Way::AtOnce || !of_item.may_be_new_again()
}

fn wrongly_seen(
    of_item: &ItemFacts,
    missing_since: Option<Duration>,
    sighting: &Sighting<'_>,
) -> Option<Rule> {
    if of_item.sent.is_none_or(|sent| sent > sighting.end) {
        return Some(Rule::NeverSent);
    }
    if of_item.adds.is_empty() {
        return Some(Rule::RefusedButStored);
    }
    if sighting.way == Way::Watch || of_item.adds.len() > 1 {
        return None;
    }
    let certain = of_item.removals.iter().filter(|removal| removal.is_certain);
    if certain.clone().any(|removal| removal.end < sighting.begin) {
        return Some(Rule::RemovedButSeen);
    }
    let came_back = missing_since.is_some_and(|missing| missing < sighting.begin);
    came_back.then_some(Rule::CameBack)
}

fn wrongly_missing(of_item: &ItemFacts, sighting: &Sighting<'_>) -> Option<Rule> {
    let since = sighting.complete_since?;
    if !of_item.was_known_before(since) {
        return None;
    }
    let mut removals = of_item.removals.iter();
    let may_be_removed = removals.any(|removal| removal.begin < sighting.end);
    if may_be_removed && sighting.way != Way::Watch {
        return None;
    }
    let mut adds = of_item.adds.iter();
    match adds.any(|add| add.is_certain && add.end < since) {
        true => Some(Rule::Lost),
        false => Some(Rule::Unseen),
    }
}

/// The end of the first read, for each item, that shows that it was taken out.
fn missing_since(facts: &KeyFacts<'_>) -> BTreeMap<i64, Duration> {
    let mut all = BTreeMap::<i64, Duration>::new();
    for sighting in &facts.sightings {
        let (Some(since), true) = (sighting.complete_since, sighting.way != Way::Watch) else {
            continue;
        };
        let seen: BTreeSet<_> = sighting.items.iter().map(|item| item.n).collect();
        for (n, of_item) in &facts.items {
            if of_item.was_known_before(since) && !seen.contains(n) {
                let missing = all.entry(*n).or_insert(sighting.end);
                *missing = sighting.end.min(*missing);
            }
        }
    }
    all
}

fn describe(sighting: &Sighting<'_>) -> String {
    let Sighting {
        begin, end, items, ..
    } = sighting;
    format!("the {} items read from {begin:?} to {end:?}", items.len())
}

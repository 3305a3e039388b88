//! Compares what callers saw with what is stored, and in `history` with what they saw before. The functions are
//! pure, so that tests with planted faults can show that each fault is found.

mod buckets;
pub(crate) mod history;
pub(crate) mod linear;
mod outliers;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

pub(crate) use self::{
    buckets::{Format, Moment, buckets},
    outliers::outliers,
};
use crate::history::{Answer, History};

/// The findings about one collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) acknowledged: usize,
    pub(crate) failed: usize,
    pub(crate) ambiguous: usize,
    /// How many of the ambiguous items are stored.
    pub(crate) arrived: usize,
    /// Items that were acknowledged and are not stored.
    pub(crate) lost: usize,
    /// Items that are stored more than once.
    pub(crate) doubled: usize,
    /// The guarantees that are broken, with an example of each kind.
    pub(crate) broken: BTreeMap<&'static str, String>,
}

impl Verdict {
    pub(crate) fn is_clean(&self) -> bool {
        self.lost == 0 && self.doubled == 0 && self.broken.is_empty()
    }

    /// Adds the findings about another collection.
    pub(crate) fn add(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.failed += other.failed;
        self.ambiguous += other.ambiguous;
        self.arrived += other.arrived;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.broken.extend(other.broken);
    }

    fn require(&mut self, holds: bool, guarantee: &'static str, example: impl FnOnce() -> String) {
        if !holds {
            self.broken.entry(guarantee).or_insert_with(example);
        }
    }

    /// G1 and O1, from the numbers of the items that are stored under each key.
    fn of_items(history: &History, stored: &BTreeMap<i64, Vec<i64>>) -> Self {
        let mut verdict = Self {
            acknowledged: history.count(Answer::Acknowledged),
            failed: history.count(Answer::Refused),
            ambiguous: history.count(Answer::InDoubt),
            ..Self::default()
        };
        let mut times = BTreeMap::<(i64, i64), usize>::new();
        for (key, numbers) in stored {
            for n in numbers {
                *times.entry((*key, *n)).or_default() += 1;
            }
        }
        verdict.doubled = times.values().filter(|times| **times > 1).count();
        let doubled = times.iter().find(|(_, times)| **times > 1);
        let example = || format!("{doubled:?}");
        verdict.require(doubled.is_none(), "G1: stored once", example);
        for added in history.added() {
            let is_stored = times.contains_key(&(added.key, added.n));
            let example = || format!("{added:?}");
            match added.answer {
                Answer::Acknowledged if !is_stored => {
                    verdict.lost += 1;
                    verdict.require(false, "G1: acknowledged is stored", example);
                }
                Answer::Refused => {
                    verdict.require(!is_stored, "G1: refused is not stored", example);
                }
                Answer::InDoubt => verdict.arrived += usize::from(is_stored),
                Answer::Acknowledged => {}
            }
        }
        let asked: BTreeSet<_> = history.added().map(|added| (added.key, added.n)).collect();
        let unasked = times.keys().find(|item| !asked.contains(item));
        let example = || format!("{unasked:?}");
        verdict.require(unasked.is_none(), "G4: under its own key", example);
        verdict
    }

    /// A writer's acknowledged items are stored, under each key, in the order of the acknowledgements.
    fn in_order(
        &mut self,
        guarantee: &'static str,
        history: &History,
        stored: &BTreeMap<i64, Vec<i64>>,
    ) {
        let told: BTreeMap<(i64, i64), (usize, usize)> = (history.added().enumerate())
            .filter(|(_, added)| added.answer == Answer::Acknowledged)
            .map(|(nth, added)| ((added.key, added.n), (added.client, nth)))
            .collect();
        for (key, numbers) in stored {
            let mut last = BTreeMap::new();
            for n in numbers {
                let Some((writer, nth)) = told.get(&(*key, *n)) else {
                    continue;
                };
                let before = last.insert(*writer, *nth);
                self.require(before < Some(*nth), guarantee, || {
                    format!("of key {key}, item {n} of writer {writer} is stored too late")
                });
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            acknowledged,
            failed,
            ambiguous,
            arrived,
            lost,
            doubled,
            broken,
        } = self;
        write!(
            f,
            "{acknowledged} acknowledged, {failed} failed, {ambiguous} ambiguous ({arrived} \
             stored), {lost} lost, {doubled} doubled"
        )?;
        for (guarantee, example) in broken {
            write!(f, "\n    broken: {guarantee}: {example}")?;
        }
        Ok(())
    }
}

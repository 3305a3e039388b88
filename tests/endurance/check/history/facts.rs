//! The facts about a key that its calls prove, item by item.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use super::{Anomaly, ReadOrder, Rule};
use crate::history::{Answer, Call, Change, Item, Operation, Way};

/// The calls for one key, sorted by what they tell.
pub(super) struct KeyFacts<'h> {
    pub(super) key: i64,
    pub(super) order: ReadOrder,
    pub(super) items: BTreeMap<i64, ItemFacts>,
    /// In the order in which they began.
    pub(super) sightings: Vec<Sighting<'h>>,
}

/// All calls that concern one item, but for reads. Refused calls are left out.
#[derive(Default)]
pub(super) struct ItemFacts {
    /// When somebody first sent it, even if the call was refused.
    pub(super) sent: Option<Duration>,
    /// Appends, pushes and upserts.
    pub(super) adds: Vec<Write>,
    pub(super) edits: Vec<Write>,
    pub(super) removals: Vec<Removal>,
    /// When a client first knew that it is stored: by an answer, or by a read.
    pub(super) known: Option<Duration>,
}

/// A call that gave an item a value, or may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    /// The index of the call, and that of the item among those of the call.
    pub(super) place: (usize, usize),
    pub(super) value: i64,
    pub(super) begin: Duration,
    pub(super) end: Duration,
    /// Whether the item certainly had the value at a moment between begin and end.
    pub(super) is_certain: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Removal {
    pub(super) call: usize,
    pub(super) begin: Duration,
    pub(super) end: Duration,
    /// Whether the item was certainly gone at the end.
    pub(super) is_certain: bool,
}

/// What a client saw of a list.
#[derive(Debug)]
pub(super) struct Sighting<'h> {
    pub(super) way: Way,
    pub(super) begin: Duration,
    pub(super) end: Duration,
    pub(super) complete_since: Option<Duration>,
    pub(super) items: Cow<'h, [Item]>,
}

impl<'h> KeyFacts<'h> {
    pub(super) fn of(key: i64, operations: &[&'h Operation], order: ReadOrder) -> Self {
        let mut facts = Self {
            key,
            order,
            items: BTreeMap::new(),
            sightings: Vec::new(),
        };
        for (nth, operation) in operations.iter().enumerate() {
            facts.note_added_or_seen(nth, operation);
        }
        // Whether an item must have been there depends on all adds and reads.
        for (nth, operation) in operations.iter().enumerate() {
            facts.note_changed(nth, operation);
        }
        facts.sightings.sort_by_key(|sighting| sighting.begin);
        facts
    }

    fn note_added_or_seen(&mut self, nth: usize, operation: &'h Operation) {
        let (begin, end) = (operation.begin, operation.end);
        match &operation.call {
            Call::Add(items) => {
                for (index, (item, answer)) in items.iter().enumerate() {
                    self.note_added((nth, index), operation, *item, *answer);
                }
            }
            Call::Upsert(item, answer) => self.note_added((nth, 0), operation, *item, *answer),
            Call::Read(read) => {
                for item in &read.items {
                    self.note_known(item.n, end);
                }
                self.sightings.push(Sighting {
                    way: read.way,
                    begin,
                    end,
                    complete_since: read.complete_since,
                    items: Cow::Borrowed(&read.items),
                });
            }
            Call::Watch(watched) => {
                for (at, item) in &watched.given {
                    self.note_known(item.n, *at);
                }
                self.sightings.push(Sighting {
                    way: Way::Watch,
                    begin,
                    end,
                    complete_since: Some(watched.complete_since),
                    items: watched.given.iter().map(|(_, item)| *item).collect(),
                });
            }
            Call::Edit(..) | Call::Remove(_) => {}
        }
    }

    fn note_added(
        &mut self,
        place: (usize, usize),
        operation: &Operation,
        item: Item,
        answer: Answer,
    ) {
        let (begin, end) = (operation.begin, operation.end);
        let facts = self.items.entry(item.n).or_default();
        facts.sent = Some(facts.sent.map_or(begin, |sent| sent.min(begin)));
        if answer == Answer::Refused {
            return;
        }
        let is_certain = answer == Answer::Acknowledged;
        facts.adds.push(Write {
            place,
            value: item.value,
            begin,
            end,
            is_certain,
        });
        if is_certain {
            self.note_known(item.n, end);
        }
    }

    fn note_known(&mut self, n: i64, at: Duration) {
        let known = &mut self.items.entry(n).or_default().known;
        *known = Some(known.map_or(at, |before| before.min(at)));
    }

    fn note_changed(&mut self, nth: usize, operation: &Operation) {
        let (begin, end) = (operation.begin, operation.end);
        let (change, value) = match &operation.call {
            Call::Edit(change, value) => (change, Some(*value)),
            Call::Remove(change) => (change, None),
            _ => return,
        };
        let did_nothing = change.answer == Answer::Acknowledged && change.found == 0;
        for (index, n) in change.numbers.iter().enumerate() {
            let facts = self.items.entry(*n).or_default();
            if did_nothing || change.answer == Answer::Refused {
                continue;
            }
            let is_certain = concerns(change, facts.known, begin);
            match value {
                Some(value) => facts.edits.push(Write {
                    place: (nth, index),
                    value,
                    begin,
                    end,
                    is_certain,
                }),
                None => facts.removals.push(Removal {
                    call: nth,
                    begin,
                    end,
                    is_certain,
                }),
            }
        }
    }

    pub(super) fn anomaly(
        &self,
        rule: Rule,
        way: impl Into<Option<Way>>,
        example: String,
    ) -> Anomaly {
        Anomaly {
            rule,
            way: way.into(),
            key: self.key,
            example,
        }
    }
}

/// Whether an acknowledged change certainly concerned this one of its items: it is the only one, or it was
/// there before.
fn concerns(change: &Change, known: Option<Duration>, begin: Duration) -> bool {
    let is_only_one = change.numbers.len() == 1 && change.found == 1;
    let was_there = known.is_some_and(|known| known < begin);
    change.answer == Answer::Acknowledged && (is_only_one || was_there)
}

impl ItemFacts {
    /// Whether the item may have been removed and then added again.
    pub(super) fn may_be_new_again(&self) -> bool {
        self.adds.len() > 1 && !self.removals.is_empty()
    }

    pub(super) fn was_known_before(&self, at: Duration) -> bool {
        self.known.is_some_and(|known| known < at)
    }
}

//! A second judge, by another method than the rules of `history`: a search for an order of the calls.
//!
//! Each call takes effect at one moment between its begin and its end, one in doubt at any later moment or never, and a
//! read gives what is there. A few items are searched at a time: each alone and, where items are read as they were
//! stored, three neighbours by number or in the longest list, of which only the reads of one moment tell.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    slice,
    time::Duration,
};

use super::history::ReadOrder;
use crate::history::{Answer, Call, History, Item, Operation};

/// When a step began, when it had ended unless it is in doubt, and the step.
type Step = (Duration, Option<Duration>, Effect);

enum Effect {
    /// Exactly these are there.
    Read(Vec<Item>),
    Write(Box<Write>),
}

/// Changes the list of those that are there, and returns whether the call can have had its answer.
type Write = dyn Fn(&mut Vec<Item>) -> bool;

/// A state of the search: a list, and the steps that have taken effect and have not ended.
type State = (Vec<Item>, BTreeSet<usize>);

/// The items of each key for which no order of the calls explains every answer.
pub(crate) fn contradictions(history: &History, order: ReadOrder) -> Vec<(i64, Vec<i64>)> {
    let mut found = Vec::new();
    for (key, calls) in history.by_key() {
        let all = BTreeSet::from_iter(calls.iter().flat_map(|call| call.call.numbers()));
        let lists = (calls.iter().map(|call| &call.call)).filter(|call| call.is_list());
        let longest = (lists.map(Call::numbers).max_by_key(Vec::len)).unwrap_or_default();
        let both = Vec::from_iter(all.iter().copied().chain(longest));
        let neighbours = (both.windows(3)).filter(|_| order == ReadOrder::AsStored);
        for some in all.iter().map(slice::from_ref).chain(neighbours) {
            let steps = calls.iter().flat_map(|call| steps(call, some));
            found.extend((!has_order(&Vec::from_iter(steps))).then(|| (key, some.to_vec())));
        }
    }
    found
}

/// What a call does to some of the items, or says of them.
fn steps(call: &Operation, some: &[i64]) -> Vec<Step> {
    let (mut steps, end) = (Vec::new(), Some(call.end));
    let mut write = |told, n, value, adds, replaces, found| {
        let end = end.filter(|_| told == Answer::Acknowledged);
        if some.contains(&n) && told != Answer::Refused {
            steps.push((call.begin, end, write(n, value, adds, replaces, found)));
        }
    };
    match &call.call {
        Call::Add(items) => (items.iter())
            .for_each(|(item, told)| write(*told, item.n, Some(item.value), true, false, None)),
        Call::Upsert(item, told) => write(*told, item.n, Some(item.value), true, true, None),
        Call::Edit(change, _) | Call::Remove(change) => {
            let all = change.found == change.numbers.len();
            let is_told = change.answer == Answer::Acknowledged && (all || change.found == 0);
            let found = is_told.then_some(all);
            let numbers = change.numbers.iter();
            numbers.for_each(|n| write(change.answer, *n, call.call.value(), false, true, found));
        }
        Call::Read(given) => {
            let items = given.items.iter().filter(|item| some.contains(&item.n));
            let items = Vec::from_iter(items.copied());
            let mut read = |begin, items| steps.push((begin, end, Effect::Read(items)));
            match given.complete_since {
                _ if call.call.is_list() => read(call.begin, items),
                _ if some.len() > 1 => {}
                Some(since) if items.is_empty() => read(since, items),
                _ => (items.into_iter()).for_each(|item| read(call.begin, vec![item])),
            }
        }
        Call::Watch(_) => {}
    }
    steps
}

/// Adds or replaces a value, or removes the item; `found` is what the answer tells of it.
fn write(n: i64, value: Option<i64>, adds: bool, replaces: bool, found: Option<bool>) -> Effect {
    Effect::Write(Box::new(move |items| {
        let at = items.iter().position(|item| item.n == n);
        match (at, value) {
            (None, Some(value)) if adds => items.push(Item { n, value }),
            (Some(at), Some(value)) if replaces => items[at].value = value,
            (Some(at), None) => drop(items.remove(at)),
            _ => {}
        }
        found.is_none_or(|found| found == at.is_some())
    }))
}

/// Whether the steps can be put in an order.
fn has_order(steps: &[Step]) -> bool {
    let mut events = BTreeSet::new();
    for (nth, (begin, end, _)) in steps.iter().enumerate() {
        events.insert((*begin, false, nth));
        events.extend(end.map(|end| (end, true, nth)));
    }
    let mut begun = BTreeSet::<usize>::new();
    let mut open = VecDeque::from([State::default()]);
    for (_, is_end, nth) in events {
        if !is_end {
            begun.insert(nth);
            continue;
        }
        let (mut seen, mut ended) = (States::default(), States::default());
        while let Some((list, mut done)) = open.pop_front() {
            // A read changes nothing, so there is no reason to wait with it.
            let fits =
                |step: &&usize| matches!(&steps[**step].2, Effect::Read(given) if *given == list);
            done.extend(begun.iter().filter(fits));
            if !seen.add(&list, &done, steps) {
                continue;
            }
            if done.remove(&nth) {
                ended.add(&list, &done, steps);
                continue;
            }
            for step in begun.difference(&done) {
                let (mut list, mut done) = (list.clone(), done.clone());
                done.insert(*step);
                if let Effect::Write(write) = &steps[*step].2
                    && write(&mut list)
                {
                    open.push_back((list, done));
                }
            }
        }
        begun.remove(&nth);
        let with = |(list, all): (Vec<Item>, Vec<_>)| {
            all.into_iter().map(move |done| (list.clone(), done))
        };
        open = ended.0.into_iter().flat_map(with).collect();
    }
    !open.is_empty()
}

/// The steps that are done, by the lists that they have led to.
#[derive(Default)]
struct States(BTreeMap<Vec<Item>, Vec<BTreeSet<usize>>>);

impl States {
    /// Adds a state unless one with the same list leaves all open that this one does: in addition only reads are done
    /// there, and what is done here alone are calls in doubt, which may take effect later or never.
    fn add(&mut self, list: &[Item], done: &BTreeSet<usize>, steps: &[Step]) -> bool {
        let others = self.0.entry(list.to_vec()).or_default();
        let is_new = !others.iter().any(|other| {
            let mut more = other.difference(done);
            more.all(|step| matches!(steps[*step].2, Effect::Read(_)))
                && done.difference(other).all(|step| steps[*step].1.is_none())
        });
        others.extend(is_new.then(|| done.clone()));
        is_new
    }
}

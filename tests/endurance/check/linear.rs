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

/// Changes the list of those that are there, and returns whether the call can have had its answer. If not, nothing is
/// changed.
type Effect = Box<dyn Fn(&mut Vec<Item>) -> bool>;

/// What a call does to some items, or says of them.
struct Step {
    begin: Duration,
    /// `None` if the call is in doubt.
    end: Option<Duration>,
    /// Whether it changes nothing.
    is_look: bool,
    effect: Effect,
}

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
            steps.push(Step {
                begin: call.begin,
                end,
                is_look: found == Some(false),
                effect: write(n, value, adds, replaces, found),
            });
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
            let mut read = |begin, given| {
                steps.push(Step {
                    begin,
                    end,
                    is_look: true,
                    effect: Box::new(move |list| *list == given),
                });
            };
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
    Box::new(move |items| {
        let at = items.iter().position(|item| item.n == n);
        if found.is_some_and(|found| found != at.is_some()) {
            return false;
        }
        match (at, value) {
            (None, Some(value)) if adds => items.push(Item { n, value }),
            (Some(at), Some(value)) if replaces => items[at].value = value,
            (Some(at), None) => drop(items.remove(at)),
            _ => {}
        }
        true
    })
}

/// Whether the steps can be put in an order.
fn has_order(steps: &[Step]) -> bool {
    let mut events = BTreeSet::new();
    for (nth, step) in steps.iter().enumerate() {
        events.insert((step.begin, false, nth));
        events.extend(step.end.map(|end| (end, true, nth)));
    }
    let mut begun = BTreeSet::<usize>::new();
    let mut states = Vec::from([State::default()]);
    for (_, is_end, nth) in events {
        if !is_end {
            begun.insert(nth);
            continue;
        }
        let (mut seen, mut ended) = (States::default(), States::default());
        let mut open = VecDeque::from(states);
        while let Some(mut state) = open.pop_front() {
            state.look(&begun, steps);
            if !seen.add(&state, steps) {
                continue;
            }
            if state.done.remove(&nth) {
                ended.add(&state, steps);
                continue;
            }
            let writes = begun
                .difference(&state.done)
                .filter(|step| !steps[**step].is_look);
            open.extend(writes.filter_map(|step| state.after(*step, steps)));
        }
        begun.remove(&nth);
        states = ended.into_states();
    }
    !states.is_empty()
}

/// A state of the search: a list, with the steps that have taken effect and have not ended.
#[derive(Debug, Clone, Default)]
struct State {
    list: Vec<Item>,
    done: BTreeSet<usize>,
}

impl State {
    /// Takes each look that fits. It changes nothing, so there is no reason to wait.
    fn look(&mut self, begun: &BTreeSet<usize>, steps: &[Step]) {
        let fits = |step: &&usize| steps[**step].is_look && (steps[**step].effect)(&mut self.list);
        let looks = Vec::from_iter(begun.iter().filter(fits));
        self.done.extend(looks);
    }

    /// The state after this step, if that is possible.
    fn after(&self, step: usize, steps: &[Step]) -> Option<Self> {
        let mut after = self.clone();
        after.done.insert(step);
        (steps[step].effect)(&mut after.list).then_some(after)
    }
}

/// The steps that are done, by the lists that they led to.
#[derive(Debug, Default)]
struct States(BTreeMap<Vec<Item>, Vec<BTreeSet<usize>>>);

impl States {
    /// Adds a state unless whatever may follow it may follow another one: after that, the list is the same, all the
    /// looks were taken, and no other call in doubt has taken effect, which it may do later or never.
    fn add(&mut self, state: &State, steps: &[Step]) -> bool {
        let others = self.0.entry(state.list.clone()).or_default();
        let is_covered_by = |other: &BTreeSet<usize>| {
            let mut more = other.difference(&state.done);
            let mut fewer = state.done.difference(other);
            more.all(|step| steps[*step].is_look) && fewer.all(|step| steps[*step].end.is_none())
        };
        let is_new = !others.iter().any(is_covered_by);
        if is_new {
            others.push(state.done.clone());
        }
        is_new
    }

    fn into_states(self) -> Vec<State> {
        let lists = self.0.into_iter();
        let states = lists.flat_map(|(list, all)| {
            all.into_iter().map(move |done| State {
                list: list.clone(),
                done,
            })
        });
        states.collect()
    }
}

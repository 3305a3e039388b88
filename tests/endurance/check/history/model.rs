//! A correct list in memory, and clients whose calls overlap at random: what they record is never wrong.

use std::{collections::BTreeSet, time::Duration};

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use super::ReadOrder;
use crate::history::{Answer, Call, Change, History, Item, Operation, Read, Watched, Way};

const CLIENTS: usize = 4;

/// How many items a part of a read gives, and how many a page has.
const PART: usize = 3;

/// The numbers below this one belong to upserts.
const UPSERTED: i64 = 4;

/// A history of this many calls or a few more, with its last read at its end.
pub(super) fn history(seed: u64, order: ReadOrder, calls: usize, removes: bool) -> History {
    let mut model = Model {
        rng: StdRng::seed_from_u64(seed),
        order,
        removes,
        now: 0,
        next: UPSERTED,
        slots: Vec::new(),
        late: Vec::new(),
        given: Vec::new(),
        history: History::default(),
    };
    let mut clients: Vec<Option<Running>> = (0..CLIENTS).map(|_| None).collect();
    while model.history.operations.len() < calls {
        model.now += 1;
        model.apply_late();
        let client = model.rng.random_range(0..CLIENTS);
        clients[client] = match clients[client].take() {
            None => Some(model.begin()),
            Some(running) => model.step(client, running),
        };
    }
    for (client, mut running) in clients.into_iter().enumerate() {
        while let Some(unfinished) = running {
            model.now += 1;
            running = model.step(client, unfinished);
        }
    }
    model.finish();
    model.history
}

struct Model {
    rng: StdRng,
    order: ReadOrder,
    removes: bool,
    now: u64,
    next: i64,
    slots: Vec<Slot>,
    /// Effects of calls in doubt that may come later, or never.
    late: Vec<Effect>,
    given: Vec<(Duration, Item)>,
    history: History,
}

/// The place of an item, which stays when the item goes.
struct Slot {
    /// It tells the place from others of the same item, which was removed there.
    id: i64,
    item: Item,
    is_there: bool,
}

#[derive(Clone)]
enum Effect {
    Add(Item),
    Upsert(Item),
    Edit(Vec<i64>, i64),
    Remove(Vec<i64>),
}

/// A call that has begun.
struct Running {
    begin: u64,
    answer: Answer,
    call: Call,
    /// What is still to be done before the answer.
    effects: Vec<Effect>,
    /// For a read in parts: the place after which it goes on, and the time of the last step.
    after: Option<i64>,
    stepped: u64,
}

impl Model {
    fn begin(&mut self) -> Running {
        let kind = self.rng.random_range(0..if self.removes { 10 } else { 8 });
        let (call, effects) = match kind {
            0..=2 => self.add(),
            3 => {
                let n = self.rng.random_range(0..UPSERTED);
                let value = self.number();
                let item = Item { n, value };
                let answer = Answer::Acknowledged;
                (Call::Upsert(item, answer), vec![Effect::Upsert(item)])
            }
            4 => {
                let (change, value) = (self.change(), self.number());
                let effect = Effect::Edit(change.numbers.clone(), value);
                (Call::Edit(change, value), vec![effect])
            }
            5..=7 => (self.read(), Vec::new()),
            _ => {
                let change = self.change();
                let effect = Effect::Remove(change.numbers.clone());
                (Call::Remove(change), vec![effect])
            }
        };
        let mut running = Running {
            begin: self.now,
            answer: Answer::Acknowledged,
            call,
            effects,
            after: None,
            stepped: self.now,
        };
        self.maybe_fail(&mut running);
        running
    }

    /// Some calls are refused and do nothing; what others do comes after their answer, or never.
    fn maybe_fail(&mut self, running: &mut Running) {
        running.answer = match self.rng.random_range(0..6) {
            0 => Answer::Refused,
            1 => Answer::InDoubt,
            _ => return,
        };
        let effects = std::mem::take(&mut running.effects);
        if running.answer == Answer::InDoubt {
            match self.rng.random() {
                true => running.effects = effects,
                false => self.late.extend(effects),
            }
        }
    }

    fn add(&mut self) -> (Call, Vec<Effect>) {
        let count = self.rng.random_range(1..4);
        let items: Vec<Item> = (0..count).map(|_| self.item()).collect();
        let told = |item: &Item| (*item, Answer::Acknowledged);
        let effects = items.iter().rev().copied().map(Effect::Add).collect();
        (Call::Add(items.iter().map(told).collect()), effects)
    }

    fn read(&mut self) -> Call {
        let ways = [Way::AtOnce, Way::ByToken, Way::OnePage];
        let mut way = *ways.choose(&mut self.rng).unwrap();
        // Only at the end of a list do new items leave a page alone.
        if self.order == ReadOrder::ByTime && way == Way::OnePage {
            way = Way::AtOnce;
        }
        Call::Read(Read {
            way,
            complete_since: None,
            items: Vec::new(),
        })
    }

    fn change(&mut self) -> Change {
        let count = self.rng.random_range(1..3);
        let first = if self.rng.random() { 0 } else { UPSERTED };
        let last = self.next.max(first + 1);
        let numbers = (0..count).map(|_| self.rng.random_range(first..last));
        let numbers: BTreeSet<i64> = numbers.collect();
        Change {
            numbers: numbers.into_iter().collect(),
            answer: Answer::Acknowledged,
            found: 0,
        }
    }

    fn item(&mut self) -> Item {
        let n = self.number();
        Item { n, value: n }
    }

    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next
    }

    fn apply_late(&mut self) {
        if !self.late.is_empty() && self.rng.random_ratio(1, 20) {
            let at = self.rng.random_range(0..self.late.len());
            let effect = self.late.swap_remove(at);
            self.apply(&effect);
        }
    }

    /// Does the next part of a call; `None` once it has ended.
    fn step(&mut self, client: usize, mut running: Running) -> Option<Running> {
        if let Some(effect) = running.effects.pop() {
            let found = self.apply(&effect);
            if let Call::Edit(change, _) | Call::Remove(change) = &mut running.call {
                change.found = found;
            }
            return Some(running);
        }
        if let Call::Read(read) = &mut running.call {
            let (begin, stepped) = (millis(running.begin), millis(running.stepped));
            running.stepped = self.now;
            let is_over = self.read_on(read, &mut running.after);
            if !is_over {
                return Some(running);
            }
            read.complete_since = match (read.way, self.order) {
                (Way::OnePage, _) => None,
                (Way::ByToken, ReadOrder::AsStored) => Some(stepped),
                _ => Some(begin),
            };
        }
        self.record(client, running);
        None
    }

    fn record(&mut self, client: usize, running: Running) {
        let Running {
            begin,
            answer,
            mut call,
            ..
        } = running;
        match &mut call {
            Call::Add(items) => items.iter_mut().for_each(|item| item.1 = answer),
            Call::Upsert(_, told) => *told = answer,
            Call::Edit(change, _) | Call::Remove(change) => change.answer = answer,
            Call::Read(_) if answer != Answer::Acknowledged => return,
            Call::Read(_) | Call::Watch(_) => {}
        }
        self.push(client, begin, call);
    }

    fn push(&mut self, client: usize, begin: u64, call: Call) {
        self.now += 1;
        self.history.operations.push(Operation {
            client,
            key: 1,
            begin: millis(begin),
            end: millis(self.now),
            call,
        });
    }

    /// Reads what one command would; returns whether the read is over.
    fn read_on(&mut self, read: &mut Read, after: &mut Option<i64>) -> bool {
        if read.way == Way::AtOnce {
            read.items.extend(there(&self.slots));
            return true;
        }
        let start = after.map_or(0, |id| {
            let last = self.slots.iter().position(|slot| slot.id == id);
            last.unwrap() + 1
        });
        let part = &self.slots[start..self.slots.len().min(start + PART)];
        read.items.extend(there(part));
        match part.last() {
            Some(slot) if read.way != Way::OnePage => *after = Some(slot.id),
            _ => return true,
        }
        false
    }

    /// Changes the list; returns how many items it found.
    fn apply(&mut self, effect: &Effect) -> usize {
        match effect {
            Effect::Add(item) => self.insert(*item),
            Effect::Upsert(item) => {
                if self.change_those(&[item.n], |slot| slot.item = *item) == 0 {
                    self.insert(*item);
                }
            }
            Effect::Edit(numbers, value) => {
                return self.change_those(numbers, |slot| slot.item.value = *value);
            }
            Effect::Remove(numbers) => {
                return self.change_those(numbers, |slot| slot.is_there = false);
            }
        }
        0
    }

    fn change_those(&mut self, numbers: &[i64], change: impl Fn(&mut Slot)) -> usize {
        let slots = self.slots.iter_mut();
        let found = slots.filter(|slot| slot.is_there && numbers.contains(&slot.item.n));
        found.map(change).count()
    }

    fn insert(&mut self, item: Item) {
        let at = match self.order {
            ReadOrder::AsStored => self.slots.len(),
            ReadOrder::ByTime => self.rng.random_range(0..=self.slots.len()),
        };
        let slot = Slot {
            id: self.number(),
            item,
            is_there: true,
        };
        self.slots.insert(at, slot);
        self.given.push((millis(self.now), item));
    }

    /// A last item, a last read, and all that a watch gave.
    fn finish(&mut self) {
        let last = self.item();
        let begin = self.now;
        self.insert(last);
        let added = Call::Add(vec![(last, Answer::Acknowledged)]);
        self.push(CLIENTS, self.now, added);
        let watched = Watched {
            complete_since: millis(begin),
            given: self.given.clone(),
        };
        self.push(CLIENTS, self.now, Call::Watch(watched));
        self.now += 1;
        let read = Read {
            way: Way::AtOnce,
            complete_since: Some(millis(self.now)),
            items: there(&self.slots).collect(),
        };
        self.push(CLIENTS, self.now, Call::Read(read));
    }
}

fn there(slots: &[Slot]) -> impl Iterator<Item = Item> {
    let slots = slots.iter().filter(|slot| slot.is_there);
    slots.map(|slot| slot.item)
}

fn millis(tick: u64) -> Duration {
    Duration::from_millis(tick)
}

//! The calls of a run, as the clients saw them: when each began and ended, and its answer.
//!
//! All clients run in one process, so one clock orders their calls: if a call ended before another one
//! began, what it did came first.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

/// The fate of an item or of a change, as its caller was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The call succeeded.
    Acknowledged,
    /// The call failed, and the error said that the item is not stored.
    Refused,
    /// The call failed, and the error said that the item may be stored; or the call was dropped.
    InDoubt,
}

/// An item as it was sent or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item {
    /// It tells the item from all others.
    pub(crate) n: i64,
    /// An edit gives the item another one; no two calls send the same value.
    pub(crate) value: i64,
}

/// A call for one key or parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The sender, who waits for each answer before the next call.
    pub(crate) client: usize,
    pub(crate) key: i64,
    /// Both are times since the run began.
    pub(crate) begin: Duration,
    pub(crate) end: Duration,
    pub(crate) call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    /// New items in their order, each with its own answer.
    Add(Vec<(Item, Answer)>),
    Upsert(Item, Answer),
    /// Items get this value.
    Edit(Change, i64),
    Remove(Change),
    Read(Read),
    /// A watch that began before the first item of its key.
    Watch(Watched),
}

impl Call {
    /// The items that it gives or gets; those of an edit or a removal need not be there.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        match self {
            Self::Add(items) => items.iter().map(|(item, _)| item.n).collect(),
            Self::Upsert(item, _) => vec![item.n],
            Self::Edit(change, _) | Self::Remove(change) => change.numbers.clone(),
            Self::Read(read) => read.items.iter().map(|item| item.n).collect(),
            Self::Watch(watched) => watched.given.iter().map(|(_, item)| item.n).collect(),
        }
    }

    /// Whether it read all items at one moment.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self, Self::Read(read) if read.way == Way::AtOnce)
    }

    /// The new value of an edit.
    pub(crate) fn value(&self) -> Option<i64> {
        match self {
            Self::Edit(_, value) => Some(*value),
            _ => None,
        }
    }
}

/// An edit or a removal of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// The items that the call names; they need not be there.
    pub(crate) numbers: Vec<i64>,
    pub(crate) answer: Answer,
    /// How many of them it changed, as an acknowledged call says.
    pub(crate) found: usize,
}

/// A read that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) way: Way,
    /// It gives everything that was acknowledged by then; `None` if it is a part of the list.
    pub(crate) complete_since: Option<Duration>,
    pub(crate) items: Vec<Item>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The whole list as it was at one moment.
    AtOnce,
    /// In parts, each continued by the token of the one before it.
    ByToken,
    /// Only one page.
    OnePage,
    Watch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Watched {
    /// Like that of a [`Read`]. Items that were removed meanwhile are given, too.
    pub(crate) complete_since: Duration,
    /// Each item, with the time at which the watch gave it.
    pub(crate) given: Vec<(Duration, Item)>,
}

/// All calls; those of each client are in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) operations: Vec<Operation>,
}

/// An item that a client sent to the end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Added {
    pub(crate) client: usize,
    pub(crate) key: i64,
    pub(crate) n: i64,
    pub(crate) answer: Answer,
}

impl History {
    pub(crate) fn by_key(&self) -> BTreeMap<i64, Vec<&Operation>> {
        let mut keys = BTreeMap::<i64, Vec<&Operation>>::new();
        for operation in &self.operations {
            keys.entry(operation.key).or_default().push(operation);
        }
        keys
    }

    pub(crate) fn added(&self) -> impl Iterator<Item = Added> {
        self.operations.iter().flat_map(|operation| {
            let items = match &operation.call {
                Call::Add(items) => items.as_slice(),
                _ => &[],
            };
            items.iter().map(|(item, answer)| Added {
                client: operation.client,
                key: operation.key,
                n: item.n,
                answer: *answer,
            })
        })
    }

    pub(crate) fn count(&self, answer: Answer) -> usize {
        self.added().filter(|added| added.answer == answer).count()
    }
}

/// A history while it is made, and the numbers for its items.
#[derive(Debug)]
pub(crate) struct Log {
    start: Instant,
    next: AtomicI64,
    history: Mutex<History>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            next: AtomicI64::new(0),
            history: Mutex::default(),
        }
    }

    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// A number that was not given before, larger than all others.
    pub(crate) fn number(&self) -> i64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Records a call that has just ended.
    pub(crate) fn record(&self, client: usize, key: i64, begin: Duration, call: Call) {
        let operation = Operation {
            client,
            key,
            begin,
            end: self.now(),
            call,
        };
        self.history.lock().unwrap().operations.push(operation);
    }

    pub(crate) fn history(&self) -> History {
        self.history.lock().unwrap().clone()
    }
}

//! The append protocol of one writer: what `engine.rs` and its modules do, with small numbers instead
//! of documents.

use crate::{
    next::{Answer, Facts, Known, Next, is_contended, next},
    server::{Id, Item, Rules, Server, Statement},
};

/// A writer's knowledge of the key's newest bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Tail {
    Unknown,
    Look,
    Shut,
    Open { id: Id, room: u8 },
    Full { last: Option<Id> },
}

/// The items of one call that are on their way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Batch {
    pub(crate) items: Vec<Item>,
    /// Items have a moment, because the ordinal is a time.
    by_time: bool,
    /// The items are those of different calls, so that their order does not matter.
    unordered: bool,
    /// Bytes are bounded, so the last bucket may be open without room for the next item.
    bounded: bool,
    tail: Tail,
    /// The number of the present attempt. After the fourth the third follows again, since only parity
    /// matters from there on.
    tries: u8,
}

/// The moment of an item: every other item of a writer falls into the same second.
fn moment(item: Item) -> u8 {
    item % 2
}

impl Batch {
    pub(crate) fn new(items: Vec<Item>, by_time: bool, unordered: bool) -> Self {
        Self {
            items,
            by_time,
            unordered,
            bounded: false,
            tail: Tail::Unknown,
            tries: 1,
        }
    }

    /// A batch for buckets whose bytes are bounded, like those of extras.
    pub(crate) fn bounded(items: Vec<Item>) -> Self {
        Self {
            bounded: true,
            ..Self::new(items, false, false)
        }
    }

    /// `find_tail`: carries out the next read that the next command needs first; `false` if it needs
    /// none.
    pub(crate) fn find_tail(&mut self, server: &Server, rules: &Rules) -> bool {
        if self.tail == Tail::Unknown && self.items.len() > self.blind(rules) {
            self.tail = Tail::Look;
        }
        match self.tail {
            Tail::Look => {
                self.tail = match server.open_bucket(rules) {
                    Some(_) if self.items.len() == 1 => Tail::Unknown,
                    Some(open) => Tail::Open {
                        id: open.id,
                        room: rules.capacity - open.count,
                    },
                    None => Tail::Shut,
                };
                true
            }
            Tail::Shut if !self.by_time => {
                self.tail = match server.last_bucket(rules) {
                    Some((last, true)) if rules.sees_open => Tail::Open {
                        id: last.id,
                        room: rules.capacity - last.count,
                    },
                    last => Tail::Full {
                        last: last.map(|(last, _)| last.id),
                    },
                };
                true
            }
            Tail::Shut => {
                let last = server.last_id(moment(self.items[0]));
                self.tail = Tail::Full { last };
                true
            }
            Tail::Unknown | Tail::Open { .. } | Tail::Full { .. } => false,
        }
    }

    /// Whether the next command needs a read first.
    pub(crate) fn must_look(&self, rules: &Rules) -> bool {
        matches!(self.tail, Tail::Look | Tail::Shut)
            || self.tail == Tail::Unknown && self.items.len() > self.blind(rules)
    }

    /// `statements`: the next command.
    pub(crate) fn statements(&self, rules: &Rules) -> Vec<Statement> {
        let mut statements = Vec::new();
        let (mut tail, mut begin) = (self.tail, 0);
        while begin < self.items.len() {
            let mut next = self.new_buckets(begin, tail, rules);
            if next.is_empty() {
                next.push(self.statement(begin, tail, rules));
            }
            for statement in &next {
                begin += statement.carries();
                tail = self.after(statement, tail, rules);
            }
            statements.extend(next);
            if tail == Tail::Unknown {
                break;
            }
        }
        statements
    }

    /// `new_buckets`: the statements that insert full buckets, and one with room left.
    fn new_buckets(&self, begin: usize, tail: Tail, rules: &Rules) -> Vec<Statement> {
        let capacity = usize::from(rules.capacity);
        let Tail::Full { mut last } = tail else {
            return Vec::new();
        };
        let is_fit = !self.by_time || self.unordered && !self.is_contended();
        if capacity == 1 || !is_fit {
            return Vec::new();
        }
        let mut new_bucket = |begin: usize, room: usize| {
            let items = &self.items[begin..self.items.len().min(begin + room)];
            let id = self.next_id(items[0], last);
            last = Some(id);
            (items.to_vec(), id)
        };
        let (mut full, mut end) = (Vec::new(), begin);
        while self.items.len() > end + capacity {
            full.push(new_bucket(end, capacity));
            end += capacity;
        }
        if full.is_empty() && !self.by_time {
            return Vec::new();
        }
        let (items, id) = new_bucket(end, opening(rules));
        let opens_first = self.by_time && rules.opens_first;
        let precedes = opens_first.then_some(id);
        let open = Statement::InsertBucket {
            items,
            id,
            precedes: None,
        };
        let full = full.into_iter().map(|(items, id)| Statement::InsertBucket {
            items,
            id,
            precedes,
        });
        match opens_first {
            true => std::iter::once(open).chain(full).collect(),
            false => full.chain([open]).collect(),
        }
    }

    fn statement(&self, begin: usize, tail: Tail, rules: &Rules) -> Statement {
        let room = match tail {
            Tail::Open { room, .. } => room.into(),
            Tail::Unknown if self.is_contended() => 1,
            _ => opening(rules),
        };
        let carries = room.min(self.items.len() - begin);
        let items = self.items[begin..begin + carries].to_vec();
        match tail {
            Tail::Open { id, .. } => Statement::AppendToIdOrBeRefused { items, id },
            Tail::Full { last } => {
                let id = self.next_id(items[0], last);
                Statement::AppendToId { items, id }
            }
            Tail::Unknown | Tail::Look | Tail::Shut if self.by_time => {
                let new_id = self.next_id(items[0], None);
                Statement::AppendOrOpen { items, new_id }
            }
            Tail::Unknown | Tail::Look | Tail::Shut => Statement::AppendToOpen { items },
        }
    }

    /// The writer's knowledge after the statement, if it succeeds.
    fn after(&self, statement: &Statement, tail: Tail, rules: &Rules) -> Tail {
        let carried = u8::try_from(statement.carries()).expect("a handful of items");
        let (id, before) = match (statement, tail) {
            // The open bucket was inserted before.
            (
                Statement::InsertBucket {
                    precedes: Some(_), ..
                },
                tail,
            ) => return tail,
            (Statement::AppendToIdOrBeRefused { id, .. }, Tail::Open { room, .. }) => (*id, room),
            (Statement::AppendToId { id, .. } | Statement::InsertBucket { id, .. }, _) => {
                (*id, rules.capacity)
            }
            _ => return Tail::Unknown,
        };
        match before - carried {
            0 => Tail::Full { last: Some(id) },
            room => Tail::Open { id, room },
        }
    }

    fn next_id(&self, item: Item, last: Option<Id>) -> Id {
        if !self.by_time {
            let base = last.map_or(0, |last| last.base + 1);
            return Id { base, suffix: 0 };
        }
        let base = moment(item);
        let last = last.filter(|last| last.base == base);
        let suffix = last.map_or(0, |last| last.suffix + 1);
        Id { base, suffix }
    }

    /// `learn`: draws the conclusion from the answer to one statement. Returns the items that are
    /// stored.
    pub(crate) fn learn(
        &mut self,
        statement: &Statement,
        answer: Answer,
        rules: &Rules,
    ) -> Vec<Item> {
        let after = self.after(statement, self.tail, rules);
        let facts = Facts {
            known: match self.tail {
                Tail::Unknown => Known::Nothing,
                Tail::Open { .. } => Known::OpenBucket,
                _ => Known::Other,
            },
            is_single: statement.carries() == 1,
            tries: self.tries.into(),
            counts_bytes: self.bounded,
            is_large: false,
            is_numbered: !self.by_time,
            is_unique: false,
        };
        self.tail = match next(answer, facts) {
            Next::GoOn => {
                (self.tail, self.tries) = (after, 0);
                self.items.retain(|item| !statement.items().contains(item));
                return statement.items().to_vec();
            }
            Next::SendAgain => Tail::Unknown,
            Next::ReadOpen => Tail::Look,
            Next::ReadLast => Tail::Shut,
            Next::AwaitIndex | Next::Stop => unreachable!("the model's server does not answer so"),
        };
        Vec::new()
    }

    /// The command was answered, and the next attempt begins.
    pub(crate) fn try_again(&mut self) {
        self.tries = match self.tries {
            4 => 3,
            tries => tries + 1,
        };
    }

    /// `take`: an error makes the writer forget what it knows.
    pub(crate) fn take(&mut self, first: usize) {
        self.items.drain(..first);
        (self.tail, self.tries) = (Tail::Unknown, 1);
    }

    fn blind(&self, rules: &Rules) -> usize {
        match self.is_contended() {
            false => opening(rules),
            true => self.items.len(),
        }
    }

    fn is_contended(&self) -> bool {
        is_contended(self.tries.into())
    }
}

fn opening(rules: &Rules) -> usize {
    usize::from(rules.capacity - 1).max(1)
}

//! The append protocol of one writer: what `engine.rs` and its modules do, with small numbers instead
//! of documents.

use crate::{
    next_step::{Answer, Facts, Known, Next, is_contended, next},
    server::{Bucket, Id, Item, Rules, Server, Statement},
    system::Config,
};

/// A writer's knowledge of the key's newest bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum NewestBucket {
    #[default]
    Unknown,
    MustRead,
    NoneOpen,
    /// Without room it is empty, and is to be sealed.
    Open {
        id: Id,
        room: u8,
    },
    Closed {
        last: Option<Id>,
    },
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
    counts_bytes: bool,
    newest_bucket: NewestBucket,
    /// `has_lost`: another open bucket has refused the items, and was not looked for since.
    has_lost: bool,
    /// The number of the present attempt. After the fourth the third follows again, since only parity
    /// matters from there on.
    tries: u8,
}

/// The moment of an item: every other item of a writer falls into the same second.
fn moment(item: Item) -> u8 {
    item % 2
}

impl Batch {
    /// A batch of a handle that remembers this of the key.
    pub(crate) fn new(items: Vec<Item>, config: &Config, newest_bucket: NewestBucket) -> Self {
        Self {
            newest_bucket,
            has_lost: false,
            items,
            by_time: config.by_time,
            unordered: config.unordered,
            counts_bytes: config.counts_bytes,
            tries: 1,
        }
    }

    /// `remember`
    pub(crate) fn memory(&self) -> NewestBucket {
        match self.newest_bucket {
            open @ NewestBucket::Open { .. } => open,
            NewestBucket::Closed { .. } if !self.by_time => NewestBucket::NoneOpen,
            _ => NewestBucket::Unknown,
        }
    }

    /// `find_newest_bucket`: carries out the next read that the next command needs first; `false` if it needs
    /// none.
    pub(crate) fn find_newest_bucket(&mut self, server: &Server, rules: &Rules) -> bool {
        if self.is_unread(rules) {
            self.newest_bucket = NewestBucket::MustRead;
        }
        match self.newest_bucket {
            // `read_newest_bucket`
            NewestBucket::MustRead if self.by_time && !self.has_lost => {
                let is_single = self.items.len() == 1;
                self.newest_bucket = match self.read_last_of_key(server, rules) {
                    NewestBucket::Open { room: 1.., .. } if is_single => NewestBucket::Unknown,
                    NewestBucket::Closed { last: Some(last) }
                        if moment(self.items[0]) < last.base =>
                    {
                        NewestBucket::NoneOpen
                    }
                    newest_bucket => newest_bucket,
                };
                true
            }
            NewestBucket::MustRead => {
                self.newest_bucket = match server.open_bucket(rules) {
                    Some(open) if self.items.len() == 1 && room(open, rules) > 0 => {
                        NewestBucket::Unknown
                    }
                    Some(open) => NewestBucket::Open {
                        id: open.id,
                        room: room(open, rules),
                    },
                    None => NewestBucket::NoneOpen,
                };
                self.has_lost = false;
                true
            }
            NewestBucket::NoneOpen if !self.by_time => {
                self.newest_bucket = self.read_last_of_key(server, rules);
                true
            }
            NewestBucket::NoneOpen => {
                let last = server.last_id(moment(self.items[0]));
                self.newest_bucket = NewestBucket::Closed { last };
                true
            }
            NewestBucket::Unknown | NewestBucket::Open { .. } | NewestBucket::Closed { .. } => {
                false
            }
        }
    }

    fn read_last_of_key(&self, server: &Server, rules: &Rules) -> NewestBucket {
        match server.last_bucket(rules) {
            Some((last, true)) if rules.sees_open => NewestBucket::Open {
                id: last.id,
                room: room(last, rules),
            },
            last => NewestBucket::Closed {
                last: last.map(|(last, _)| last.id),
            },
        }
    }

    /// Whether the next command needs a read first.
    pub(crate) fn must_read(&self, rules: &Rules) -> bool {
        matches!(
            self.newest_bucket,
            NewestBucket::MustRead | NewestBucket::NoneOpen
        ) || self.is_unread(rules)
    }

    /// Whether nothing is known of the newest bucket, and no search will do.
    fn is_unread(&self, rules: &Rules) -> bool {
        self.newest_bucket == NewestBucket::Unknown
            && !self.is_contended()
            && self.items.len() > max_in_new_bucket(rules)
    }

    /// `statements`: the next command.
    pub(crate) fn statements(&self, rules: &Rules) -> Vec<Statement> {
        let mut statements = Vec::new();
        let (mut newest_bucket, mut begin) = (self.newest_bucket, 0);
        while begin < self.items.len() {
            let mut next = self.new_buckets(begin, newest_bucket, rules);
            if next.is_empty() {
                next.push(self.statement(begin, newest_bucket, rules));
            }
            for statement in &next {
                begin += statement.carries();
                newest_bucket = self.after(statement, newest_bucket, rules);
            }
            statements.extend(next);
            if newest_bucket == NewestBucket::Unknown {
                break;
            }
        }
        statements
    }

    /// `new_buckets`: the statements that insert full buckets, and one with room left if items remain.
    fn new_buckets(
        &self,
        begin: usize,
        newest_bucket: NewestBucket,
        rules: &Rules,
    ) -> Vec<Statement> {
        let capacity = usize::from(rules.capacity);
        let NewestBucket::Closed { mut last } = newest_bucket else {
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
        let least = match self.by_time {
            true => capacity + 1,
            false => capacity,
        };
        while self.items.len() >= end + least {
            full.push(new_bucket(end, capacity));
            end += capacity;
        }
        let needs_open = end < self.items.len() && (self.by_time || !full.is_empty());
        let open = needs_open.then(|| new_bucket(end, max_in_new_bucket(rules)));
        let opens_first = self.by_time && rules.opens_first;
        let precedes = open.as_ref().filter(|_| opens_first).map(|(_, id)| *id);
        let insert = |(items, id), precedes| Statement::InsertBucket {
            items,
            id,
            precedes,
        };
        let open = open.into_iter().map(|open| insert(open, None));
        let full = full.into_iter().map(|full| insert(full, precedes));
        match opens_first {
            true => open.chain(full).collect(),
            false => full.chain(open).collect(),
        }
    }

    fn statement(&self, begin: usize, newest_bucket: NewestBucket, rules: &Rules) -> Statement {
        if let NewestBucket::Open { id, room: 0 } = newest_bucket {
            return Statement::Seal { id };
        }
        let room = match newest_bucket {
            NewestBucket::Open { room, .. } => room.into(),
            NewestBucket::Unknown if self.is_contended() => 1,
            _ => max_in_new_bucket(rules),
        };
        let carries = room.min(self.items.len() - begin);
        let items = self.items[begin..begin + carries].to_vec();
        match newest_bucket {
            NewestBucket::Open { id, .. } => Statement::AppendToIdOrBeRefused {
                items,
                id,
                is_filled: carries == room,
            },
            NewestBucket::Closed { last } => {
                let id = self.next_id(items[0], last);
                Statement::AppendToId { items, id }
            }
            NewestBucket::Unknown | NewestBucket::MustRead | NewestBucket::NoneOpen
                if self.by_time =>
            {
                let new_id = self.next_id(items[0], None);
                Statement::AppendOrOpen { items, new_id }
            }
            NewestBucket::Unknown | NewestBucket::MustRead | NewestBucket::NoneOpen => {
                Statement::AppendToOpen { items }
            }
        }
    }

    /// The writer's knowledge after the statement, if it succeeds.
    fn after(
        &self,
        statement: &Statement,
        newest_bucket: NewestBucket,
        rules: &Rules,
    ) -> NewestBucket {
        if let Statement::Seal { id } = statement {
            return NewestBucket::Closed { last: Some(*id) };
        }
        let carried = u8::try_from(statement.carries()).expect("a handful of items");
        let (id, before) = match (statement, newest_bucket) {
            // The open bucket was inserted before.
            (
                Statement::InsertBucket {
                    precedes: Some(_), ..
                },
                newest_bucket,
            ) => return newest_bucket,
            (Statement::AppendToIdOrBeRefused { id, .. }, NewestBucket::Open { room, .. }) => {
                (*id, room)
            }
            (Statement::AppendToId { id, .. } | Statement::InsertBucket { id, .. }, _) => {
                (*id, rules.capacity)
            }
            _ => return NewestBucket::Unknown,
        };
        match before - carried {
            0 => NewestBucket::Closed { last: Some(id) },
            room => NewestBucket::Open { id, room },
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

    /// `note_outcome`: draws the conclusion from the answer to one statement. Returns the items that are
    /// stored.
    pub(crate) fn note_outcome(
        &mut self,
        statement: &Statement,
        (answer, is_inserted): (Answer, bool),
        rules: &Rules,
    ) -> Vec<Item> {
        let mut after = self.after(statement, self.newest_bucket, rules);
        if let (Statement::AppendOrOpen { items, new_id, .. }, true) = (statement, is_inserted) {
            let room = rules.capacity - u8::try_from(items.len()).expect("a handful of items");
            after = match room {
                0 => NewestBucket::Closed {
                    last: Some(*new_id),
                },
                room => NewestBucket::Open { id: *new_id, room },
            };
        }
        let has_lost = self.has_lost;
        self.has_lost |= answer == Answer::OtherOpen;
        let facts = Facts {
            known: match self.newest_bucket {
                NewestBucket::Unknown => Known::Nothing,
                NewestBucket::Open { .. } => Known::OpenBucket,
                _ => Known::Other,
            },
            is_single: statement.carries() == 1,
            tries: self.tries.into(),
            counts_bytes: self.counts_bytes,
            is_large: false,
            is_numbered: !self.by_time,
            is_unique: false,
            has_lost,
        };
        self.newest_bucket = match next(answer, facts) {
            Next::GoOn => {
                (self.newest_bucket, self.tries) = (after, 0);
                self.has_lost = false;
                self.items.retain(|item| !statement.items().contains(item));
                return statement.items().to_vec();
            }
            Next::SendAgain => NewestBucket::Unknown,
            Next::ReadNewest => NewestBucket::MustRead,
            Next::ReadLast => NewestBucket::NoneOpen,
            Next::Stop => unreachable!("the model's server does not answer so"),
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

    /// `take_failed`: an error makes the writer forget what it knows.
    pub(crate) fn take_failed(&mut self, first: usize) {
        self.items.drain(..first);
        (self.newest_bucket, self.tries) = (NewestBucket::Unknown, 1);
    }

    fn is_contended(&self) -> bool {
        is_contended(self.tries.into())
    }
}

/// How many items an open bucket takes: none if it is empty.
fn room(open: &Bucket, rules: &Rules) -> u8 {
    match open.items.is_empty() && rules.seals_empty {
        true => 0,
        false => rules.capacity - open.count,
    }
}

fn max_in_new_bucket(rules: &Rules) -> usize {
    usize::from(rules.capacity - 1).max(1)
}

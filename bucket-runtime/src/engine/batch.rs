//! What is to be appended to one key, and which statements do that.

use std::collections::{HashSet, VecDeque};

use mongodb::bson::{Bson, DateTime};

use super::capacity::Patience;
use crate::{
    Appended, Error,
    command::{Items, KeyScope, Update, identity},
    element::value_size as size,
    error::Kind,
    id,
    rollup::Totals,
    server::{Last, Open, whole},
    size::Budget,
};

/// How many bytes of elements one command carries at most, unless a single one is longer. The
/// server takes 16 MB in a command.
pub(crate) const COMMAND_BYTES: usize = 8 << 20;

/// How many statements one command carries at most.
const STATEMENTS: usize = 100;

/// Of how many items it is looked up at once whether they are there already.
const LOOKED_UP: usize = 1000;

/// Items of one key on their way into its buckets, in order.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) scope: KeyScope,
    /// Those that are not stored yet, each with its place among all.
    entries: VecDeque<(usize, Entry)>,
    /// The others, by their places, until they are told of.
    pub(crate) done: Vec<(usize, Appended)>,
    /// Whether some of the first items may be there already, which has to be looked up.
    pub(crate) doubtful: bool,
    /// What is known of the key's newest bucket.
    pub(crate) tail: Tail,
    /// Why the last command was refused, if that was since an index was not there.
    pub(crate) missing: Option<Error>,
    pub(super) patience: Patience,
    /// How often something was sent in vain.
    pub(super) tries: u32,
    /// After an error: how many of the entries it is about, from the first one on. Those behind
    /// them were not sent.
    pub(crate) concerned: usize,
}

/// An item in the form in which it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) element: Bson,
    /// With a time ordinal, the id of a bucket that begins with this item.
    pub(crate) base: Option<String>,
    /// Where buckets expire, the item's time.
    pub(crate) time: Option<DateTime>,
    /// The values that the bucket's rollups take in.
    pub(crate) rolled: Vec<Option<Bson>>,
}

/// What a writer knows of a key's newest bucket. It may be outdated at any time: then the server
/// refuses the statement that was built on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tail {
    /// Nothing.
    Unknown,
    /// Nothing, and it cannot be left at that.
    Look,
    /// Nothing is open. Which id is next has to be read.
    Shut,
    /// A bucket is open, and has room for so many.
    Open {
        id: String,
        room: usize,
        /// How many bytes its items take beyond their shares, where that counts.
        oversize: i64,
    },
    /// Nothing is open, and this is the last id that has to be counted on from.
    Full { last: Option<String> },
}

impl Tail {
    /// What is known of a key, or of a window, by its last bucket. One read tells both: which number
    /// is next, and that nothing is open. Another writer may have opened that bucket a moment ago.
    pub(crate) fn by_last(last: Option<Last>) -> Self {
        match last {
            Some(Last { id, room, oversize }) if room > 0 => Self::Open { id, room, oversize },
            last => Self::Full {
                last: last.map(|last| last.id),
            },
        }
    }

    /// What is known of a key by its open bucket; if that has an id that is none of the key's, that id.
    pub(crate) fn by_open(open: Open, scope: &KeyScope) -> Result<Self, Bson> {
        match open.id {
            Bson::String(id) if id.starts_with(&scope.prefix) => Ok(Self::Open {
                id,
                room: (scope.open.capacity as usize)
                    .saturating_sub(open.count)
                    .max(1),
                oversize: open.oversize,
            }),
            other => Err(other),
        }
    }

    /// Notes that a bucket that is about to be opened gets another id.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Self::Open { id, .. } | Self::Full { last: Some(id) } = self
            && id == from
        {
            to.clone_into(id);
        }
    }
}

/// What a statement is sent with, which decides what it may do while nothing is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sent {
    /// In a session. It opens no bucket: were that refused in a transaction, all would be aborted.
    InSession,
    /// By itself, or before others of its key.
    Alone,
    /// With statements of other keys. It is refused if it does not change a document.
    WithOthers,
}

/// An update that carries the next items, and what holds once it was carried out.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) update: Update,
    pub(crate) carries: usize,
    pub(super) after: Tail,
}

impl Batch {
    pub(crate) fn new(scope: KeyScope, entries: impl IntoIterator<Item = Entry>) -> Self {
        let entries: VecDeque<_> = entries.into_iter().enumerate().collect();
        Self {
            scope,
            concerned: entries.len(),
            entries,
            done: Vec::new(),
            doubtful: false,
            tail: Tail::Unknown,
            missing: None,
            patience: Patience::default(),
            tries: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// About how many bytes the first ones take.
    pub(crate) fn bytes(&self, first: usize) -> usize {
        let first = self.entries.iter().take(first);
        first.map(|(_, entry)| size(&entry.element)).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Those that are not stored.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = Entry> {
        self.entries.into_iter().map(|(_, entry)| entry)
    }

    /// Takes out the first ones with their places, and forgets what was known.
    pub(crate) fn take(&mut self, first: usize) -> Vec<(usize, Entry)> {
        (self.tail, self.tries) = (Tail::Unknown, 0);
        self.entries.drain(..first).collect()
    }

    /// How many items can open a bucket: one less than fill it, unless a bucket holds only one.
    ///
    /// A bucket that is full from the start is not in the open index, and the server would take it
    /// although another one is open. What the same writer appends next would go into that one, and
    /// so come before.
    pub(super) fn opening(&self) -> usize {
        (self.capacity() - 1).max(1)
    }

    /// How many items are sent at most while nothing is known.
    pub(super) fn blind(&self) -> usize {
        match self.is_contended() {
            false => self.opening(),
            true => self.len(),
        }
    }

    /// Whether others were faster several times in a row. A single item that goes into whichever
    /// bucket is open has the best chance then.
    pub(super) fn is_contended(&self) -> bool {
        self.tries > 2
    }

    fn capacity(&self) -> usize {
        self.scope.open.capacity as usize
    }

    /// What bounds the bytes of the key's buckets, if anything has to.
    fn budget(&self) -> Option<Budget> {
        Budget::of(&self.scope)
    }

    /// The next statements. Each holds only if those before it were carried out. An error means that
    /// there is no id for the next bucket.
    pub(crate) fn statements(&self, sent: Sent) -> Result<Vec<Statement>, Kind> {
        let most = match sent {
            Sent::Alone => STATEMENTS,
            Sent::InSession | Sent::WithOthers => 1,
        };
        let mut statements = Vec::new();
        let mut tail = self.tail.clone();
        let (mut begin, mut bytes) = (0, 0);
        while begin < self.entries.len() && statements.len() < most {
            let next = match self.statement(begin, &tail, sent, &mut bytes) {
                Ok(Some(next)) => next,
                Err(kind) if statements.is_empty() => return Err(kind),
                Ok(None) | Err(_) => break,
            };
            begin += next.carries;
            tail = next.after.clone();
            statements.push(next);
            if tail == Tail::Unknown {
                break;
            }
        }
        Ok(statements)
    }

    /// The statement that carries the items from this one on; `None` if the command is long enough.
    fn statement(
        &self,
        begin: usize,
        tail: &Tail,
        sent: Sent,
        bytes: &mut usize,
    ) -> Result<Option<Statement>, Kind> {
        let base = self.entries[begin].1.base.as_deref();
        let room = match tail {
            Tail::Open { room, .. } => *room,
            Tail::Unknown if self.is_contended() => 1,
            _ => self.opening(),
        };
        if let Tail::Open { id, oversize, .. } = tail
            && !self.fits(begin, *oversize)
        {
            return Ok(Some(self.seal(id, sent)));
        }
        let taken = match tail {
            Tail::Open { oversize, .. } => Some(*oversize),
            _ => None,
        };
        let items = self.items(begin, room, taken, bytes);
        let carries = items.elements.len();
        if carries == 0 {
            return Ok(None);
        }
        let (update, after) = match tail {
            Tail::Unknown | Tail::Look | Tail::Shut => {
                let update = match (base, sent) {
                    (_, Sent::InSession) | (None, Sent::Alone) => self.scope.append_to_open(items),
                    (Some(base), _) => self.scope.append_or_open(items, base),
                    (None, _) => self.scope.append_to_open_or_be_refused(items),
                };
                (update, Tail::Unknown)
            }
            Tail::Open { id, room, oversize } => {
                let after = self.after(id, room - carries, oversize + items.oversize);
                (self.scope.append_to_id_or_be_refused(items, id), after)
            }
            Tail::Full { last } => {
                let id = self.next_id(base, last.as_deref())?;
                let after = self.after(&id, self.capacity() - carries, items.oversize);
                (self.scope.append_to_id(items, &id), after)
            }
        };
        let carried = self.entries.range(begin..begin + carries);
        let newest = carried.filter_map(|(_, entry)| entry.time).max();
        Ok(Some(Statement {
            update: match newest {
                None => update,
                Some(newest) => update.with_newest(newest),
            },
            carries,
            after,
        }))
    }

    fn after(&self, id: &str, room: usize, oversize: i64) -> Tail {
        let id = id.to_owned();
        match room {
            0 => Tail::Full { last: Some(id) },
            room => Tail::Open { id, room, oversize },
        }
    }

    /// Whether a bucket takes the item whose others take so many bytes beyond their shares.
    fn fits(&self, at: usize, oversize: i64) -> bool {
        let Some(budget) = self.budget() else {
            return true;
        };
        let (_, entry) = &self.entries[at];
        budget.takes(oversize, budget.oversize(size(&entry.element)))
    }

    /// Whether the next item has no room in the bucket that is known to be open.
    pub(super) fn is_cramped(&self) -> bool {
        match self.tail {
            Tail::Open { oversize, .. } => !self.is_empty() && !self.fits(0, oversize),
            _ => false,
        }
    }

    /// Whether it is likely that what is open has no room for the next item, since that is a large one.
    pub(super) fn may_be_cramped(&self) -> bool {
        let large = |budget: Budget| {
            let first = self.front().map_or(0, |entry| size(&entry.element));
            budget.oversize(first) > 0
        };
        // A bucket that one item fills has no room for small ones either.
        self.budget()
            .is_some_and(|budget| self.tries.is_multiple_of(2) || large(budget))
    }

    /// Whether the bytes of the key's buckets count.
    pub(super) fn is_bounded(&self) -> bool {
        self.scope.max_bytes().is_some()
    }

    /// Whether an update that found nothing may mean that what is open has no room for the item. With
    /// a time ordinal that is another bucket than the last one of the item's moment.
    pub(super) fn has_to_look(&self) -> bool {
        self.is_bounded() && !self.scope.spec.id.ordinal.counts()
    }

    /// The statement that seals the open bucket, after which the next one can be opened.
    fn seal(&self, id: &str, sent: Sent) -> Statement {
        Statement {
            update: match sent {
                Sent::InSession => self.scope.seal(id),
                Sent::Alone | Sent::WithOthers => self.scope.seal_or_be_refused(id),
            },
            carries: 0,
            after: Tail::Full {
                last: Some(id.to_owned()),
            },
        }
    }

    /// The items from this one on, at most so many, not more bytes than a command carries, none more
    /// whose rollups cannot be told here, since the server tells those, and none twice. `taken` is how
    /// many bytes those take beyond their shares which the bucket has; one that is to be opened takes
    /// any first item.
    fn items(&self, begin: usize, room: usize, taken: Option<i64>, bytes: &mut usize) -> Items {
        let spec = self.scope.spec;
        let mut elements = Vec::new();
        let mut totals = (!spec.rollups.is_empty()).then(|| Totals::new(spec));
        let mut identities = HashSet::new();
        let budget = self.budget();
        let mut oversize = 0;
        for (_, entry) in self.entries.range(begin..).take(room) {
            let size = size(&entry.element);
            if *bytes > 0 && *bytes + size > COMMAND_BYTES {
                break;
            }
            if let Some(identity) = self.identity(entry)
                && !identities.insert(comparable(identity))
            {
                break;
            }
            let further = budget.map_or(0, |budget| budget.oversize(size));
            let is_first = taken.is_none() && elements.is_empty();
            let takes = |budget: Budget| budget.takes(taken.unwrap_or(0) + oversize, further);
            if !is_first && !budget.is_none_or(takes) {
                break;
            }
            // The last check: what the totals have taken is appended.
            if let Some(totals) = &mut totals
                && !totals.take(spec, &entry.rolled)
            {
                break;
            }
            oversize += further;
            *bytes += size;
            elements.push(entry.element.clone());
        }
        Items {
            elements,
            totals,
            oversize,
        }
    }

    /// The id of the bucket after `last`: the next number, or the item's moment, with the next
    /// suffix if a bucket has that id already.
    fn next_id(&self, base: Option<&str>, last: Option<&str>) -> Result<String, Kind> {
        let next = match base {
            Some(base) => id::next_suffix(base, last.filter(|last| last.starts_with(base))),
            None => next_number(&self.scope, last),
        };
        let last = || last.unwrap_or_default().to_owned();
        match next {
            Ok(Some(id)) => Ok(id),
            Ok(None) => Err(Kind::IdsExhausted(last())),
            Err(()) => Err(Kind::ForeignId(last())),
        }
    }

    /// Whether the next bucket's id counts on from another one than the last one that is known.
    pub(super) fn is_of_another_moment(&self) -> bool {
        let base = self.front().and_then(|entry| entry.base.as_ref());
        match (&self.tail, base) {
            (Tail::Full { last: Some(last) }, Some(base)) => !last.starts_with(base),
            _ => false,
        }
    }

    /// Among which ids the last one counts for the next one: the whole key's, or the moment's.
    pub(super) fn siblings(&self) -> mongodb::bson::Document {
        match self.front().and_then(|entry| entry.base.as_deref()) {
            Some(base) => KeyScope::same_moment(base),
            None => self.scope.all(),
        }
    }

    fn front(&self) -> Option<&Entry> {
        self.entries.front().map(|(_, entry)| entry)
    }

    /// Takes out what a statement has stored.
    pub(super) fn stored(&mut self, statement: Statement) {
        let stored = self.entries.drain(..statement.carries);
        (self.done).extend(stored.map(|(place, _)| (place, Appended::Stored)));
        self.tail = statement.after;
        self.tries = 0;
        self.patience = Patience::default();
    }

    /// What tells an item from the others of its key, if anything does.
    fn identity<'e>(&self, entry: &'e Entry) -> Option<&'e Bson> {
        identity(self.scope.spec.unique?, &entry.element)
    }

    /// What tells the next items from the others of their key, as many as are looked up at once.
    pub(super) fn identities(&self) -> Vec<Bson> {
        let first = self.entries.iter().take(LOOKED_UP);
        let identities = first.filter_map(|(_, entry)| self.identity(entry));
        identities.cloned().collect()
    }

    /// Takes out the items that are there already.
    pub(super) fn found(&mut self, identities: impl IntoIterator<Item = Bson>) {
        let found: HashSet<_> = identities.into_iter().map(|id| comparable(&id)).collect();
        for (place, entry) in std::mem::take(&mut self.entries) {
            match self.identity(&entry) {
                Some(identity) if found.contains(&comparable(identity)) => {
                    self.done.push((place, Appended::AlreadyThere));
                    self.tries = 0;
                }
                _ => self.entries.push_back((place, entry)),
            }
        }
        self.doubtful = false;
    }
}

/// An identity in a form in which those are equal that the server takes for equal.
pub(crate) fn comparable(identity: &Bson) -> String {
    match whole(identity) {
        Some(number) => number.to_string(),
        None => identity.to_string(),
    }
}

/// The id that counts on from `last`; `Err` if that is no number, `Ok(None)` past the width.
pub(crate) fn next_number(scope: &KeyScope, last: Option<&str>) -> Result<Option<String>, ()> {
    let next = match last {
        None => 0,
        Some(last) => {
            let text = last.strip_prefix(&scope.prefix).ok_or(())?;
            // Pages that were put before the first one have numbers below zero.
            (id::parse_signed(text).ok_or(())? + 1).max(0)
        }
    };
    Ok(id::signed(next).map(|number| scope.id(&number)))
}

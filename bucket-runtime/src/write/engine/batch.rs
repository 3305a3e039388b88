//! The items that wait to be appended to one key, and the statements that append them.

mod new_buckets;
mod results;

use std::{
    collections::{HashSet, VecDeque},
    ops::Range,
};

use bucket_core::{
    error::Kind,
    protocol::{
        command::{AppendedItems, IndexedScope, Update, identity},
        next_id::next_id,
        next_step::is_contended,
        pack::Packer,
    },
    server::wire::Response,
    value::{number::comparable, rollup::Totals},
};
use mongodb::bson::Bson;

use super::{NewestBucket, retry_state::RetryState};
use crate::write::{appended::Appended, caller::Owner, item::Entry};

/// The most bytes of elements in one command, unless a single element is longer. The server takes
/// 16 MB.
pub const COMMAND_BYTES: usize = 8 << 20;

/// The most statements of one command.
const STATEMENTS_PER_COMMAND: usize = 100;

/// Items of one key on their way into its buckets, in order.
#[derive(Debug)]
pub struct Batch {
    /// Their key, or their window of it.
    pub scope: IndexedScope,
    /// The items that are not stored yet, with their owners.
    pub(crate) entries: VecDeque<(Owner, Entry)>,
    /// The owners of items that are stored, until they learn it.
    pub(crate) done: Vec<(Owner, Appended)>,
    /// The engine's knowledge of the key's newest bucket.
    pub newest_bucket: NewestBucket,
    /// Whether the items are those of different calls, so that their order does not matter.
    pub(crate) is_unordered: bool,
    pub(super) retry_state: RetryState,
}

/// How a statement is sent, which decides whether it may open a bucket while nothing is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SendMode {
    /// The statement is sent in a session, and opens no bucket: a refusal would abort a
    /// transaction.
    InSession,
    /// The statement is sent alone, or followed by statements of the same key.
    Alone,
    /// The statement is sent with those of other keys, and is refused if it changes no document.
    WithOthers,
}

/// The items that a statement stores, and the newest bucket after it.
#[derive(Debug)]
pub(crate) struct Carried {
    /// The index of the first item in the batch's entries, after the statements before it have
    /// succeeded.
    begin: usize,
    pub(crate) items: usize,
    after: NewestBucket,
    /// The newest bucket after it, if it opens one: only the answer tells.
    after_opening: Option<NewestBucket>,
}

impl Carried {
    /// The first entries of the batch.
    fn new(items: usize, after: NewestBucket) -> Self {
        Self {
            begin: 0,
            items,
            after,
            after_opening: None,
        }
    }

    /// Notes whether the statement has opened a bucket, if it may have.
    pub(super) fn note_answer(&mut self, answer: &Response) {
        if let Some(opened) = self.after_opening.take()
            && answer.is_inserted
        {
            self.after = opened;
        }
    }

    /// The indexes of the statement's items in the batch's entries.
    pub(super) fn range(&self) -> Range<usize> {
        self.begin..self.begin + self.items
    }
}

impl Batch {
    /// The items of one call.
    pub fn new(scope: IndexedScope, entries: impl IntoIterator<Item = Entry>) -> Self {
        let owners = (0..).map(|at| Owner { at, caller: None });
        Self::with_owners(scope, owners.zip(entries))
    }

    pub(crate) fn with_owners(
        scope: IndexedScope,
        entries: impl IntoIterator<Item = (Owner, Entry)>,
    ) -> Self {
        Self {
            scope,
            entries: entries.into_iter().collect(),
            done: Vec::new(),
            newest_bucket: NewestBucket::Unknown,
            is_unordered: false,
            retry_state: RetryState::default(),
        }
    }

    /// How many items are not stored yet.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether all items are stored.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes out the last items, which would begin a bucket without filling it, if the others fill
    /// one. What comes meanwhile fills it with them, so each bucket is written once, and no other
    /// handle finds one that is open. No item is taken out twice in a row, since they are fewer
    /// than fill a bucket.
    pub(crate) fn split_off_partial_bucket(&mut self) -> VecDeque<(Owner, Entry)> {
        let room = match &self.newest_bucket {
            NewestBucket::Open { room, .. } => *room,
            _ => 0,
        };
        let new = self.len().saturating_sub(room);
        let partial = match new >= self.scope.capacity() {
            true => new % self.scope.capacity(),
            false => 0,
        };
        self.entries.split_off(self.len() - partial)
    }

    pub(super) fn front(&self) -> Option<&Entry> {
        self.entries.front().map(|(_, entry)| entry)
    }

    /// The next statements, each with what it carries. Each assumes that those before it succeed.
    /// Together they carry the first items, though not always in order. The error says that no id
    /// is left for the next bucket.
    pub(crate) fn statements(&self, sent: SendMode) -> Result<Vec<(Update, Carried)>, Kind> {
        let most = match sent {
            SendMode::Alone => STATEMENTS_PER_COMMAND,
            SendMode::InSession | SendMode::WithOthers => 1,
        };
        let mut statements = Vec::new();
        let mut newest_bucket = self.newest_bucket.clone();
        let (mut begin, mut bytes) = (0, 0);
        while begin < self.entries.len() && statements.len() < most {
            let most = most - statements.len();
            let mut next = self.new_buckets(begin, &newest_bucket, most, &mut bytes);
            if next.is_empty() {
                match self.statement(begin, &newest_bucket, sent, &mut bytes) {
                    Ok(Some(statement)) => next.push(statement),
                    Err(kind) if statements.is_empty() => return Err(kind),
                    Ok(None) | Err(_) => break,
                }
            }
            for (_, carried) in &next {
                begin += carried.items;
                newest_bucket = carried.after.clone();
            }
            statements.extend(next);
            if newest_bucket == NewestBucket::Unknown {
                break;
            }
        }
        Ok(statements)
    }

    /// The statement for the items from `begin` on; `None` if the command is full.
    fn statement(
        &self,
        begin: usize,
        newest_bucket: &NewestBucket,
        sent: SendMode,
        bytes: &mut usize,
    ) -> Result<Option<(Update, Carried)>, Kind> {
        let scope = &self.scope;
        let (room, before) = match newest_bucket {
            NewestBucket::Open { room, oversize, .. } => (*room, Some(*oversize)),
            NewestBucket::Unknown if self.is_contended() => (1, None),
            _ => (self.max_in_new_bucket(), None),
        };
        if let NewestBucket::Open { id, room, oversize } = newest_bucket
            && !self.has_room_for(&self.entries[begin].1, *room, *oversize)
        {
            return Ok(Some(self.seal(id, sent)));
        }
        let items = self.items(begin, room, before, bytes);
        let count = items.elements.len();
        if count == 0 {
            return Ok(None);
        }
        let opening_id = self.entries[begin].1.opening_id.as_deref();
        let mut after_opening = None;
        let (update, after) = match newest_bucket {
            NewestBucket::Open { id, room, oversize } => {
                let after = NewestBucket::with_room(id, room - count, oversize + items.oversize);
                let is_filled = count == *room;
                let is_own = self.retry_state.is_own;
                let update = scope.append_to_id_or_be_refused(items, id, is_filled, is_own);
                (update, after)
            }
            NewestBucket::Closed { last } => {
                let id = self.next_id(opening_id, last.as_deref())?;
                let after = self.opened(&id, &items);
                (scope.append_to_id(items, &id), after)
            }
            _ => {
                let update = match (opening_id, sent) {
                    (_, SendMode::InSession) | (None, SendMode::Alone) => {
                        scope.append_to_open(items)
                    }
                    (Some(opening_id), _) => {
                        after_opening = Some(self.opened(opening_id, &items));
                        scope.append_or_open(items, opening_id)
                    }
                    _ => scope.append_to_open_or_be_refused(items),
                };
                (update, NewestBucket::Unknown)
            }
        };
        let update = self.with_newest_of(update, begin..begin + count);
        let carried = Carried {
            after_opening,
            ..Carried::new(count, after)
        };
        Ok(Some((update, carried)))
    }

    /// The newest bucket after one was opened with these items.
    fn opened(&self, id: &str, items: &AppendedItems) -> NewestBucket {
        let room = self.scope.capacity() - items.elements.len();
        NewestBucket::with_room(id, room, items.oversize)
    }

    /// The statement that seals the open bucket, so that the next one can be opened.
    fn seal(&self, id: &str, sent: SendMode) -> (Update, Carried) {
        let update = match sent {
            SendMode::InSession => self.scope.seal(id),
            SendMode::Alone | SendMode::WithOthers => self.scope.seal_or_be_refused(id),
        };
        let last = Some(id.to_owned());
        let closed = NewestBucket::Closed { last };
        (update, Carried::new(0, closed))
    }

    /// The update, with the time of the newest of these entries if buckets expire.
    fn with_newest_of(&self, update: Update, entries: Range<usize>) -> Update {
        let times = (self.entries.range(entries)).filter_map(|(_, entry)| entry.time);
        match times.max() {
            None => update,
            Some(newest) => update.with_newest(newest),
        }
    }

    /// The items from `begin` on that fit into one statement: at most `room`, within the bytes of a
    /// command and of the bucket, no two with the same `unique` value, and none whose rollup only
    /// the server can compute. `before` is the bucket's oversize; a new bucket takes any first
    /// item.
    fn items(
        &self,
        begin: usize,
        room: usize,
        before: Option<i64>,
        bytes: &mut usize,
    ) -> AppendedItems {
        let spec = self.scope.spec;
        let mut elements = Vec::new();
        let mut totals = (!spec.rollups.is_empty()).then(|| Totals::new(spec));
        let mut identities = HashSet::new();
        let mut packer = Packer::with_room(&self.scope, room, before);
        for (_, entry) in self.entries.range(begin..) {
            let is_too_long = *bytes > 0 && *bytes + entry.size > COMMAND_BYTES;
            if is_too_long || !packer.takes(entry.size) {
                break;
            }
            if let Some(identity) = self.identity(entry)
                && !identities.insert(comparable(identity))
            {
                break;
            }
            // The last check, since it changes the totals.
            if let Some(totals) = &mut totals
                && !totals.take(spec, &entry.rolled)
            {
                break;
            }
            packer.add(entry.size);
            *bytes += entry.size;
            elements.push(entry.element.clone());
        }
        AppendedItems {
            elements,
            totals,
            oversize: packer.pack().oversize,
        }
    }

    /// The item's `unique` value, if the struct has one.
    fn identity<'e>(&self, entry: &'e Entry) -> Option<&'e Bson> {
        identity(self.scope.spec.unique?, &entry.element)
    }

    /// The id of the bucket after `last`.
    fn next_id(&self, opening_id: Option<&str>, last: Option<&str>) -> Result<String, Kind> {
        let last_id = || last.unwrap_or_default().to_owned();
        match next_id(&self.scope, opening_id, last) {
            Ok(Some(id)) => Ok(id),
            Ok(None) => Err(Kind::IdsExhausted(last_id())),
            Err(()) => Err(self.scope.foreign(&last_id().into())),
        }
    }

    /// The most items that open a bucket: one less than its capacity, unless that is one.
    ///
    /// A bucket that is full from the start is not in the open index, so the server would accept it
    /// beside an open one; see [`new_buckets`](Self::new_buckets).
    pub(super) fn max_in_new_bucket(&self) -> usize {
        (self.scope.capacity() - 1).max(1)
    }

    /// Whether an open bucket with this room and oversize takes the item.
    pub(super) fn has_room_for(&self, entry: &Entry, room: usize, oversize: i64) -> bool {
        Packer::with_room(&self.scope, room, Some(oversize)).takes(entry.size)
    }

    /// Whether other writers won several races in a row.
    pub(super) fn is_contended(&self) -> bool {
        is_contended(self.retry_state.tries)
    }
}

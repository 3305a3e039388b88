//! The items that wait to be appended to one key.

mod new_buckets;
mod statement;

use std::{
    collections::{HashSet, VecDeque},
    ops::Range,
};

use mongodb::bson::Bson;

pub(crate) use self::statement::{Carried, SendMode, next_number};
use super::NewestBucket;
use crate::{
    Error,
    protocol::{
        budget::Budget,
        command::{IndexedScope, KeyScope, identity},
        newest_bucket::LastBucket,
        next::is_contended,
    },
    schema::open_index::OpenIndex,
    server::current_index::IndexDeadline,
    value::element::{comparable, value_size as size},
    write::{appended::Appended, item::Entry},
};

/// The most bytes of elements in one command, unless a single element is longer. The server takes 16 MB.
pub(crate) const COMMAND_BYTES: usize = 8 << 20;

/// How many items one duplicate look-up covers.
const LOOKED_UP: usize = 1000;

/// Items of one key on their way into its buckets, in order.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) scope: IndexedScope,
    /// The items that are not stored yet, each with its place in the call.
    entries: VecDeque<(usize, Entry)>,
    /// The items that are stored, by their places, until their callers learn it.
    pub(crate) done: Vec<(usize, Appended)>,
    /// Whether some of the first items may be stored already, so that the engine has to look them up.
    pub(crate) doubtful: bool,
    /// The engine's knowledge of the key's newest bucket.
    pub(crate) newest_bucket: NewestBucket,
    /// The refusal of the last command, if its index was missing.
    pub(crate) missing: Option<Error>,
    pub(super) index_deadline: IndexDeadline,
    /// How many tries failed since the batch last made progress.
    pub(super) tries: u32,
    /// The entries that the last error concerns. The others were not sent.
    pub(crate) in_doubt: Range<usize>,
    /// Whether the items are those of different calls, so that their order does not matter.
    pub(crate) is_unordered: bool,
}

impl Batch {
    pub(crate) fn new(scope: IndexedScope, entries: impl IntoIterator<Item = Entry>) -> Self {
        let entries: VecDeque<_> = entries.into_iter().enumerate().collect();
        Self {
            scope,
            in_doubt: 0..entries.len(),
            is_unordered: false,
            entries,
            done: Vec::new(),
            doubtful: false,
            newest_bucket: NewestBucket::Unknown,
            missing: None,
            index_deadline: IndexDeadline::default(),
            tries: 0,
        }
    }

    /// Uses this open index from now on.
    pub(super) fn go_by(&mut self, open: OpenIndex) {
        if self.scope.open != open {
            self.scope.open = open;
            self.newest_bucket = NewestBucket::Unknown;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The approximate bytes of the first entries.
    pub(crate) fn bytes(&self, first: usize) -> usize {
        let first = self.entries.iter().take(first);
        first.map(|(_, entry)| size(&entry.element)).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the first try has shown that the key's last bucket must be read, which tells the next number.
    pub(crate) fn needs_last_bucket(&self) -> bool {
        let is_first = self.tries == 0 && !self.doubtful;
        is_first
            && self.newest_bucket == NewestBucket::NoneOpen
            && self.scope.spec.id.ordinal.counts()
    }

    /// Notes the key's last bucket, as read for another try.
    pub(crate) fn note_last_bucket(&mut self, last: Option<LastBucket>) {
        self.newest_bucket = NewestBucket::by_last(last);
        self.tries += 1;
    }

    /// The entries that are not stored.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = Entry> {
        self.entries.into_iter().map(|(_, entry)| entry)
    }

    /// Removes the entries that an error concerns, with their places, and forgets the newest bucket.
    pub(crate) fn take_doubted(&mut self) -> Vec<(usize, Entry)> {
        (self.newest_bucket, self.tries) = (NewestBucket::Unknown, 0);
        self.entries.drain(self.in_doubt.clone()).collect()
    }

    /// The most items that open a bucket: one less than its capacity, unless that is one.
    ///
    /// A bucket that is full from the start is not in the open index, so the server would accept it beside
    /// an open one; see [`new_buckets`](Self::new_buckets).
    pub(super) fn opening(&self) -> usize {
        (self.capacity() - 1).max(1)
    }

    /// The most items of a statement while nothing is known of the newest bucket.
    pub(super) fn blind(&self) -> usize {
        match self.is_contended() {
            false => self.opening(),
            true => self.len(),
        }
    }

    /// Whether other writers won several races in a row.
    pub(super) fn is_contended(&self) -> bool {
        is_contended(self.tries)
    }

    fn capacity(&self) -> usize {
        self.scope.open.capacity as usize
    }

    /// The byte budget of the key's buckets, if bytes have to be counted.
    fn budget(&self) -> Option<Budget> {
        Budget::of(&self.scope)
    }

    /// Whether a bucket whose items take `oversize` bytes beyond their shares has room for this item.
    fn fits(&self, at: usize, oversize: i64) -> bool {
        let Some(budget) = self.budget() else {
            return true;
        };
        let (_, entry) = &self.entries[at];
        budget.takes(oversize, budget.oversize(size(&entry.element)))
    }

    /// Whether the open bucket has too few bytes left for the next item.
    pub(super) fn is_cramped(&self) -> bool {
        match self.newest_bucket {
            NewestBucket::Open { oversize, .. } => !self.is_empty() && !self.fits(0, oversize),
            _ => false,
        }
    }

    /// Whether the next item takes more than its share of a bucket's bytes.
    pub(super) fn is_next_large(&self) -> bool {
        let (Some(budget), Some(next)) = (self.budget(), self.front()) else {
            return false;
        };
        budget.oversize(size(&next.element)) > 0
    }

    /// Whether the bytes of the key's buckets have to be counted.
    pub(super) fn is_bounded(&self) -> bool {
        self.scope.max_bytes().is_some()
    }

    /// Whether the next item belongs to another moment than the last known bucket.
    pub(super) fn is_of_another_moment(&self) -> bool {
        let opening_id = self.front().and_then(|entry| entry.opening_id.as_ref());
        match (&self.newest_bucket, opening_id) {
            (NewestBucket::Closed { last: Some(last) }, Some(opening_id)) => {
                !last.starts_with(opening_id)
            }
            _ => false,
        }
    }

    /// The ids whose last one decides the next id: those of the key, or of the item's moment.
    pub(super) fn siblings(&self) -> mongodb::bson::Document {
        match self.front().and_then(|entry| entry.opening_id.as_deref()) {
            Some(opening_id) => KeyScope::ids_of_moment(opening_id),
            None => self.scope.ids(),
        }
    }

    fn front(&self) -> Option<&Entry> {
        self.entries.front().map(|(_, entry)| entry)
    }

    /// Removes the items that a statement stored.
    pub(super) fn stored(&mut self, carried: Carried) {
        let stored = self.entries.drain(carried.range());
        (self.done).extend(stored.map(|(place, _)| (place, Appended::Stored)));
        self.newest_bucket = carried.after;
        self.tries = 0;
        self.index_deadline = IndexDeadline::default();
    }

    /// The item's `unique` value, if the struct has one.
    fn identity<'e>(&self, entry: &'e Entry) -> Option<&'e Bson> {
        identity(self.scope.spec.unique?, &entry.element)
    }

    /// The `unique` values of the items that one look-up covers.
    pub(super) fn identities(&self) -> Vec<Bson> {
        let first = self.entries.iter().take(LOOKED_UP);
        let identities = first.filter_map(|(_, entry)| self.identity(entry));
        identities.cloned().collect()
    }

    /// Removes the items that are stored already.
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

//! What is to be appended to one key.

mod statement;

use std::collections::{HashSet, VecDeque};

use mongodb::bson::Bson;

pub(crate) use self::statement::{SendMode, Statement, next_number};
use super::NewestBucket;
use crate::{
    Error,
    protocol::{
        budget::Budget,
        command::{KeyScope, identity},
        next::is_contended,
    },
    schema::open_index::OpenIndex,
    server::current_index::IndexDeadline,
    value::element::{value_size as size, whole},
    write::{appended::Appended, item::Entry},
};

/// How many bytes of elements one command carries at most, unless a single one is longer. The
/// server takes 16 MB in a command.
pub(crate) const COMMAND_BYTES: usize = 8 << 20;

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
    pub(crate) newest_bucket: NewestBucket,
    /// Why the last command was refused, if that was since an index was not there.
    pub(crate) missing: Option<Error>,
    pub(super) index_deadline: IndexDeadline,
    /// How often something was sent in vain.
    pub(super) tries: u32,
    /// After an error: how many of the entries it is about, from the first one on. Those behind
    /// them were not sent.
    pub(crate) in_doubt: usize,
}

impl Batch {
    pub(crate) fn new(scope: KeyScope, entries: impl IntoIterator<Item = Entry>) -> Self {
        let entries: VecDeque<_> = entries.into_iter().enumerate().collect();
        Self {
            scope,
            in_doubt: entries.len(),
            entries,
            done: Vec::new(),
            doubtful: false,
            newest_bucket: NewestBucket::Unknown,
            missing: None,
            index_deadline: IndexDeadline::default(),
            tries: 0,
        }
    }

    /// Goes by this open index from now on.
    pub(super) fn go_by(&mut self, open: OpenIndex) {
        if self.scope.open != open {
            self.scope.open = open;
            self.newest_bucket = NewestBucket::Unknown;
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
        (self.newest_bucket, self.tries) = (NewestBucket::Unknown, 0);
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

    /// Whether others were faster several times in a row.
    pub(super) fn is_contended(&self) -> bool {
        is_contended(self.tries)
    }

    fn capacity(&self) -> usize {
        self.scope.open.capacity as usize
    }

    /// What bounds the bytes of the key's buckets, if anything has to.
    fn budget(&self) -> Option<Budget> {
        Budget::of(&self.scope)
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

    /// Whether the bytes of the key's buckets count.
    pub(super) fn is_bounded(&self) -> bool {
        self.scope.max_bytes().is_some()
    }

    /// Whether the next bucket's id counts on from another one than the last one that is known.
    pub(super) fn is_of_another_moment(&self) -> bool {
        let opening_id = self.front().and_then(|entry| entry.opening_id.as_ref());
        match (&self.newest_bucket, opening_id) {
            (NewestBucket::Closed { last: Some(last) }, Some(opening_id)) => {
                !last.starts_with(opening_id)
            }
            _ => false,
        }
    }

    /// Among which ids the last one counts for the next one: the whole key's, or the moment's.
    pub(super) fn siblings(&self) -> mongodb::bson::Document {
        match self.front().and_then(|entry| entry.opening_id.as_deref()) {
            Some(opening_id) => KeyScope::ids_of_moment(opening_id),
            None => self.scope.ids(),
        }
    }

    fn front(&self) -> Option<&Entry> {
        self.entries.front().map(|(_, entry)| entry)
    }

    /// Takes out what a statement has stored.
    pub(super) fn stored(&mut self, statement: Statement) {
        let stored = self.entries.drain(..statement.items);
        (self.done).extend(stored.map(|(place, _)| (place, Appended::Stored)));
        self.newest_bucket = statement.after;
        self.tries = 0;
        self.index_deadline = IndexDeadline::default();
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

//! The items of a batch that were stored, are present already, or failed.

use std::{
    collections::{HashSet, VecDeque},
    mem,
};

use bucket_core::{
    protocol::command::{Update, identity},
    value::number::comparable,
};
use mongodb::bson::Bson;

use super::{Batch, Carried, NewestBucket, RetryState, SendMode};
use crate::write::{appended::Appended, caller::Owner, item::Entry};

/// How many identities one look-up covers.
const IDENTITIES_PER_LOOKUP: usize = 1000;

impl Batch {
    /// Removes the items that a statement stored.
    pub(crate) fn record_stored(&mut self, carried: Carried) {
        let stored = self.entries.drain(carried.range());
        (self.done).extend(stored.map(|(owner, _)| (owner, Appended::Stored)));
        self.newest_bucket = carried.after;
        self.retry_state.is_own = true;
        self.retry_state.tries = 0;
        self.retry_state.has_lost = false;
    }

    /// The `unique` values of the items that one look-up covers.
    pub(in crate::write::engine) fn identities(&self) -> Vec<Bson> {
        let first = self.entries.iter().take(IDENTITIES_PER_LOOKUP);
        let identities = first.filter_map(|(_, entry)| self.identity(entry));
        identities.cloned().collect()
    }

    /// Removes the items that have one of these `unique` values, which are stored already.
    pub(crate) fn remove_present<'i>(&mut self, identities: impl IntoIterator<Item = &'i Bson>) {
        let present: HashSet<_> = identities.into_iter().map(comparable).collect();
        let removed = self.take_out(|identity| present.contains(&identity));
        if !removed.is_empty() {
            self.retry_state.tries = 0;
        }
        self.note_present(removed);
        self.retry_state.may_be_present = false;
    }

    /// Takes out the items whose `unique` value an earlier one has.
    pub(crate) fn take_twins(&mut self) -> VecDeque<(Owner, Entry)> {
        let mut seen = HashSet::new();
        self.take_out(|identity| !seen.insert(identity))
    }

    /// Takes out the items with certain `unique` values.
    fn take_out(&mut self, mut is_out: impl FnMut(String) -> bool) -> VecDeque<(Owner, Entry)> {
        let Some(field) = self.scope.spec.unique else {
            return VecDeque::new();
        };
        let identity = |entry: &Entry| identity(field, &entry.element).map(comparable);
        let (out, others) = mem::take(&mut self.entries)
            .into_iter()
            .partition(|(_, entry)| identity(entry).is_some_and(&mut is_out));
        self.entries = others;
        out
    }

    /// Notes that these items are stored already.
    pub(crate) fn note_present(&mut self, entries: impl IntoIterator<Item = (Owner, Entry)>) {
        let owners = entries.into_iter().map(|(owner, _)| owner);
        (self.done).extend(owners.map(|owner| (owner, Appended::AlreadyThere)));
    }

    /// Notes the results of the first items, which were not sent by the engine.
    pub(crate) fn note_results(&mut self, results: impl IntoIterator<Item = Appended>) {
        for appended in results {
            let owner = self.entries.pop_front().map(|(owner, _)| owner);
            self.done.extend(owner.map(|owner| (owner, appended)));
        }
    }

    /// How many of the items this batch has stored.
    pub fn count_stored(&self) -> u64 {
        let done = self.done.iter();
        done.filter(|done| done.1 == Appended::Stored).count() as u64
    }

    /// The result of the only item, which is done.
    pub(crate) fn only_result(&self) -> Appended {
        (self.done.first()).map_or(Appended::Stored, |(_, appended)| *appended)
    }

    /// The first items, in the form that commands on a parent need.
    pub(crate) fn first(&self, items: usize) -> Vec<Bson> {
        let first = self.entries.iter().take(items);
        first.map(|(_, entry)| entry.element.clone()).collect()
    }

    /// The bytes of each item that is not stored.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.entries.iter().map(|(_, entry)| entry.size)
    }

    /// Forgets what is known of the key: other commands were sent meanwhile.
    pub(crate) fn start_afresh(&mut self) {
        self.newest_bucket = NewestBucket::Unknown;
        self.retry_state = RetryState::default();
    }

    /// Begins with what the handle's last command has shown of the newest bucket.
    pub(crate) fn go_on_from(&mut self, newest_bucket: NewestBucket) {
        self.newest_bucket = newest_bucket;
        self.retry_state.is_own = true;
    }

    /// The newest bucket, as far as the commands have shown it.
    pub(crate) fn shown_bucket(&self) -> NewestBucket {
        match self.retry_state.is_own {
            true => self.newest_bucket.clone(),
            false => NewestBucket::Unknown,
        }
    }

    /// Removes the entries that the last error concerns, and forgets the newest bucket.
    pub(in crate::write::engine) fn take_failed(&mut self) -> Vec<(Owner, Entry)> {
        self.newest_bucket = NewestBucket::Unknown;
        self.retry_state.tries = 0;
        (self.entries.drain(self.retry_state.failed_entries.clone())).collect()
    }

    /// The owners of the items that are not stored.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.entries.iter().map(|(owner, _)| owner)
    }

    /// Takes out the items that fill the open bucket, with the updates that do so, in order, and
    /// that seal the bucket if the next item needs more bytes than are left.
    pub fn take_fills(&mut self) -> Option<Vec<Update>> {
        let mut fills = Vec::new();
        while let NewestBucket::Open { .. } = self.newest_bucket
            && !self.is_empty()
        {
            let (update, carried) = self.statements(SendMode::WithOthers).ok()?.pop()?;
            self.record_stored(carried);
            fills.push(update);
        }
        Some(fills)
    }

    /// Whether a command of many keys cannot store the rest, since items may be present.
    pub(crate) fn must_be_sent_alone(&self) -> bool {
        self.retry_state.may_be_present
    }

    /// Whether the first try has shown that the key's last bucket must be read, which tells the
    /// next number.
    pub(crate) fn needs_last_bucket(&self) -> bool {
        let is_first = self.retry_state.tries == 0 && !self.retry_state.may_be_present;
        is_first
            && self.newest_bucket == NewestBucket::NoneOpen
            && self.scope.spec.id.ordinal.counts()
    }

    /// Notes the key's last bucket, as read for another try.
    pub(crate) fn note_last_bucket(&mut self, last: NewestBucket) {
        self.newest_bucket = last;
        self.retry_state.is_own = false;
        self.retry_state.tries += 1;
    }
}

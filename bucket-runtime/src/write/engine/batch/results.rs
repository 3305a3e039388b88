//! The items of a batch that were stored, are present already, or failed.

use std::{collections::HashSet, mem};

use bucket_core::{protocol::command::Update, value::number::comparable};
use mongodb::bson::Bson;

use super::{Batch, Carried, NewestBucket, SendMode};
use crate::write::{appended::Appended, item::Entry};

/// How many identities one look-up covers.
const IDENTITIES_PER_LOOKUP: usize = 1000;

impl<W> Batch<W> {
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
    pub(in crate::write::engine) fn remove_present(
        &mut self,
        identities: impl IntoIterator<Item = Bson>,
    ) {
        let present: HashSet<_> = identities.into_iter().map(|id| comparable(&id)).collect();
        for (owner, entry) in mem::take(&mut self.entries) {
            match self.identity(&entry) {
                Some(identity) if present.contains(&comparable(identity)) => {
                    self.done.push((owner, Appended::AlreadyThere));
                    self.retry_state.tries = 0;
                }
                _ => self.entries.push_back((owner, entry)),
            }
        }
        self.retry_state.may_be_present = false;
    }

    /// Begins with what the handle's last command has shown of the newest bucket.
    pub(crate) fn go_on_from(&mut self, newest_bucket: NewestBucket) {
        self.newest_bucket = newest_bucket;
        self.retry_state.is_own = true;
    }

    /// The newest bucket, as far as the commands have shown it.
    pub(crate) fn shown_bucket(self) -> NewestBucket {
        match self.retry_state.is_own {
            true => self.newest_bucket,
            false => NewestBucket::Unknown,
        }
    }

    /// Removes the entries that the last error concerns, and forgets the newest bucket.
    pub(in crate::write::engine) fn take_failed(&mut self) -> Vec<(W, Entry)> {
        self.newest_bucket = NewestBucket::Unknown;
        self.retry_state.tries = 0;
        (self.entries.drain(self.retry_state.failed_entries.clone())).collect()
    }

    /// The owners of the items that are not stored.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &W> {
        self.entries.iter().map(|(owner, _)| owner)
    }

    /// Removes the items that are not stored, and returns their owners.
    pub(crate) fn take_owners(&mut self) -> impl Iterator<Item = W> {
        self.entries.drain(..).map(|(owner, _)| owner)
    }

    /// The entries that are not stored, with their owners.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (W, Entry)> {
        self.entries.into_iter()
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

    /// The bytes of the first entries.
    pub(crate) fn bytes_of_first(&self, entries: usize) -> usize {
        let first = self.entries.iter().take(entries);
        first.map(|(_, entry)| entry.size).sum()
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

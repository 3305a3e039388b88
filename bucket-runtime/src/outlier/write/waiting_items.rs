//! The items of a push that are not stored yet.

use std::collections::{BTreeSet, HashSet};

use bucket_core::{protocol::command::identity, value::number::comparable};
use mongodb::bson::Bson;

use crate::write::{appended::Appended, item::Entry};

/// The items of a call that are not stored yet, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitingItems {
    /// The items, each with its place among all of the call.
    pub(crate) entries: Vec<(usize, Entry)>,
    /// The places of those that the call has stored.
    pub(crate) stored: BTreeSet<usize>,
}

impl WaitingItems {
    pub(crate) fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        Self {
            entries: entries.into_iter().enumerate().collect(),
            stored: BTreeSet::new(),
        }
    }

    /// The first items, in the form that commands need.
    pub(crate) fn first(&self, items: usize) -> Vec<Bson> {
        let first = self.entries[..items].iter();
        first.map(|(_, entry)| entry.element.clone()).collect()
    }

    pub(crate) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.entries.iter().map(|(_, entry)| entry.size)
    }

    /// The answer for the item with this place, after all were pushed.
    pub(crate) fn answer(&self, place: usize) -> Appended {
        match self.stored.contains(&place) {
            true => Appended::Stored,
            false => Appended::AlreadyThere,
        }
    }

    /// Removes the items whose identity is one of these.
    pub(crate) fn remove_held(&mut self, field: &str, held: &[Bson]) {
        let held: HashSet<_> = held.iter().map(comparable).collect();
        self.retain(field, |identity| !held.contains(&identity));
    }

    /// Removes the items whose identity an earlier one has.
    pub(crate) fn remove_twins(&mut self, field: &str) {
        let mut seen = HashSet::new();
        self.retain(field, |identity| seen.insert(identity));
    }

    fn retain(&mut self, field: &str, mut is_kept: impl FnMut(String) -> bool) {
        self.entries.retain(|(_, entry)| {
            let identity = identity(field, &entry.element).map(comparable);
            identity.is_none_or(&mut is_kept)
        });
    }
}

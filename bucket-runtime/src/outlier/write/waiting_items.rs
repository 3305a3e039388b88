//! The items of a push that are not stored yet.

use std::{
    collections::{BTreeSet, HashSet},
    mem,
};

use bucket_core::{
    protocol::command::{IndexedScope, identity},
    value::{
        element::{count_within, value_size},
        number::comparable,
    },
};
use mongodb::bson::Bson;

use crate::write::{appended::Appended, engine::Batch, item::Entry};

/// The items of a call that are not stored yet, in order, each with its place among all of the
/// call.
#[derive(Debug, Default)]
pub(crate) struct WaitingItems {
    places: Vec<usize>,
    pub(crate) elements: Vec<Bson>,
    /// The places of those that the call has stored.
    pub(crate) stored: BTreeSet<usize>,
}

impl WaitingItems {
    pub(crate) fn new(elements: Vec<Bson>) -> Self {
        Self {
            places: (0..elements.len()).collect(),
            elements,
            stored: BTreeSet::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// How many of the first items one command can compare with others: at least one.
    pub(crate) fn count_comparable(&self, most: usize, most_bytes: usize) -> usize {
        let sizes = self.elements.iter().take(most).map(value_size);
        count_within(most_bytes, sizes).max(1).min(self.len())
    }

    /// The answer for the item with this place, after all were pushed.
    pub(crate) fn answer(&self, place: usize) -> Appended {
        match self.stored.contains(&place) {
            true => Appended::Stored,
            false => Appended::AlreadyThere,
        }
    }

    /// Removes the first items, of which those at these positions are stored now, and the others
    /// were before.
    pub(crate) fn remove_first(&mut self, items: usize, stored: impl IntoIterator<Item = usize>) {
        let places: Vec<_> = self.places.drain(..items).collect();
        self.elements.drain(..items);
        (self.stored).extend(stored.into_iter().map(|position| places[position]));
    }

    /// Takes the items from this one on, to be [put back](Self::put_back).
    pub(crate) fn take_from(&mut self, first: usize) -> Self {
        Self {
            places: self.places.split_off(first),
            elements: self.elements.split_off(first),
            stored: BTreeSet::new(),
        }
    }

    /// Puts items that were taken from the end there again.
    pub(crate) fn put_back(&mut self, later: Self) {
        self.places.extend(later.places);
        self.elements.extend(later.elements);
    }

    /// Takes all items, to be appended to the extras.
    pub(crate) fn take_batch(&mut self, scope: &IndexedScope) -> Batch<usize> {
        let elements = mem::take(&mut self.elements).into_iter().map(Entry::from);
        let entries = mem::take(&mut self.places).into_iter().zip(elements);
        Batch::with_owners(scope.clone(), entries)
    }

    /// Puts the items back that were not appended.
    pub(crate) fn put_batch_back(&mut self, mut batch: Batch<usize>) {
        let done = mem::take(&mut batch.done).into_iter();
        let stored = done.filter(|(_, appended)| *appended == Appended::Stored);
        self.stored.extend(stored.map(|(place, _)| place));
        for (place, entry) in batch.into_entries() {
            self.places.push(place);
            self.elements.push(entry.element);
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
        let places = mem::take(&mut self.places).into_iter();
        let items = places.zip(mem::take(&mut self.elements));
        let kept = items.filter(|(_, element)| {
            let identity = identity(field, element).map(comparable);
            identity.is_none_or(&mut is_kept)
        });
        (self.places, self.elements) = kept.unzip();
    }

    /// Those of the call's items that wait.
    pub(crate) fn select<I>(&self, items: Vec<I>) -> Vec<I> {
        let mut places = self.places.iter().peekable();
        let numbered = items.into_iter().enumerate();
        let waiting = numbered.filter(|(n, _)| places.next_if(|place| *place == n).is_some());
        waiting.map(|(_, item)| item).collect()
    }
}

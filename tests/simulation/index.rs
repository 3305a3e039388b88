//! Indexes that are created and dropped while others write, and the places in them.

use std::sync::Arc;

use bucket_runtime::bson::{Bson, Document};

use crate::{
    filter::number,
    store::{Place, Refusal, Store, all_entries, duplicate, entries, has, holds, share_entry},
    world::{Answered, World},
};

const INDEX_NOT_FOUND: i32 = 27;
const INDEX_OPTIONS_CONFLICT: i32 = 85;
const INDEX_KEY_SPECS_CONFLICT: i32 = 86;
pub(crate) const DUPLICATE_KEY: i32 = 11000;
const BACKGROUND_OPERATION_IN_PROGRESS: i32 = 12587;

impl Store {
    /// Begins to build indexes, unless they are there; their names.
    pub(crate) fn begin_indexes(&mut self, command: &Document) -> Result<Vec<String>, Refusal> {
        let new = command.get_array("indexes").into_iter().flatten();
        let new: Vec<_> = new.filter_map(Bson::as_document).collect();
        let mut names = Vec::new();
        for new in new {
            let is_same = |name: &str, other: &Document| other.get(name) == new.get(name);
            match self.indexes.iter().find(|other| is_same("name", other)) {
                // As from 8.2 on; before, the server leaves the index as it is.
                Some(named) if shown(named) == shown(new) && is_hidden(named) == is_hidden(new) => {
                    continue;
                }
                Some(named) if shown(named) == shown(new) => {
                    return Err((INDEX_OPTIONS_CONFLICT, "hidden".to_owned()));
                }
                Some(_) => return Err((INDEX_KEY_SPECS_CONFLICT, "same name".to_owned())),
                None => {}
            }
            let is_twin = |other: &Document| {
                is_same("key", other) && is_same("partialFilterExpression", other)
            };
            if self.indexes.iter().any(is_twin) {
                return Err((INDEX_OPTIONS_CONFLICT, "another name".to_owned()));
            }
            let name = new.get_str("name").unwrap_or_default();
            self.indexes.push(new.clone());
            self.building.push(name.to_owned());
            names.push(name.to_owned());
        }
        Ok(names)
    }

    /// Ends the building of an index; a refusal if two documents have the same place in it.
    pub(crate) fn end_index(&mut self, name: &str) -> Result<(), Refusal> {
        self.building.retain(|building| building != name);
        let is_named = |index: &Document| index.get_str("name").unwrap_or_default() == name;
        let Some(at) = self.indexes.iter().position(is_named) else {
            return Ok(());
        };
        let index = &self.indexes[at];
        let held = self
            .documents
            .iter()
            .filter(|document| holds(index, document));
        let is_second = |(n, document): (usize, &Arc<Document>)| {
            let mut before = held.clone().take(n);
            before.any(|before| share_entry(index, document, before))
        };
        if self.is_enforced(index) && held.clone().enumerate().any(is_second) {
            self.indexes.remove(at);
            return Err(duplicate(name));
        }
        Ok(())
    }

    /// Drops an index, or hides or shows it.
    fn change_index(&mut self, name: &str, hidden: Option<bool>) -> Result<(), Refusal> {
        if !self.building.is_empty() {
            let text = "an index build is in progress".to_owned();
            return Err((BACKGROUND_OPERATION_IN_PROGRESS, text));
        }
        let mut indexes = self.indexes.iter();
        let found = indexes.position(|index| index.get_str("name") == Ok(name));
        let text = || format!("index not found with name [{name}]");
        let found = found.ok_or_else(|| (INDEX_NOT_FOUND, text()))?;
        match hidden {
            None => drop(self.indexes.remove(found)),
            Some(hidden) => drop(self.indexes[found].insert("hidden", hidden)),
        }
        Ok(())
    }

    /// The places by which this differs from an earlier state: the ids of all documents that have changed, and what
    /// they have left or taken in unique indexes. An old server looks there for all that is deleted, also for what an
    /// index does not hold, and touches its place unless another document is there.
    pub(crate) fn places(
        &self,
        before: &Self,
        collection: &'static str,
        is_old: bool,
    ) -> Vec<Place> {
        let mut places = Vec::new();
        let place = |index: &str, entry| Place {
            collection,
            index: index.to_owned(),
            entry,
        };
        for [before, after] in self.changes(before) {
            let id = before.or(after).and_then(|document| document.get("_id"));
            places.push(place("_id_", Vec::from_iter(id.cloned())));
            for index in &self.indexes {
                let of = |document: Option<&Arc<Document>>| {
                    document.map_or_else(Vec::new, |document| entries(index, document))
                };
                let (mut left, taken) = (of(before), of(after));
                if is_old && after.is_none() && left.is_empty() {
                    left = before.map_or_else(Vec::new, |before| all_entries(index, before));
                    left.retain(|one| {
                        (self.documents.iter()).all(|it| !has(&entries(index, it), one))
                    });
                }
                let moved = left.iter().filter(|one| !has(&taken, one));
                let moved = moved.chain(taken.iter().filter(|one| !has(&left, one)));
                let name = index.get_str("name").unwrap_or_default();
                places.extend(moved.map(|entry| place(name, entry.clone())));
            }
        }
        places
    }

    /// The documents that differ from an earlier state, before and after.
    pub(crate) fn changes<'s>(&'s self, before: &'s Self) -> Vec<[Option<&'s Arc<Document>>; 2]> {
        let old = before
            .documents
            .iter()
            .map(|old| [Some(old), self.by_id(old)]);
        let new = self
            .documents
            .iter()
            .filter(|new| before.by_id(new).is_none());
        let changes = old.chain(new.map(|new| [None, Some(new)]));
        changes.filter(|[before, after]| before != after).collect()
    }

    fn by_id(&self, like: &Document) -> Option<&Arc<Document>> {
        let mut all = self.documents.iter();
        all.find(|document| document.get("_id") == like.get("_id"))
    }

    /// Changes those documents by which one state differs from another.
    pub(crate) fn take_changes(&mut self, from: &Self, base: &Self) {
        for [before, after] in from.changes(base) {
            if let Some(before) = before {
                (self.documents).retain(|document| document.get("_id") != before.get("_id"));
            }
            self.documents.extend(after.cloned());
        }
    }
}

/// An index without the field that hides it, which does not tell it from another one.
fn shown(index: &Document) -> Document {
    let mut index = index.clone();
    index.remove("hidden");
    index
}

/// Whether no command may name the index.
pub(crate) fn is_hidden(index: &Document) -> bool {
    index.get_bool("hidden") == Ok(true)
}

impl World {
    /// Begins to build the indexes of a command `createIndexes`; their names.
    pub(crate) fn begin_indexes(&mut self, command: &Document) -> Result<Vec<String>, Refusal> {
        let begun = self.primary.store_of(command).begin_indexes(command);
        match &begun {
            Ok(_) => self.majority = self.primary.clone(),
            Err(refusal) => self.record("", command, 0, &Err(refusal.clone())),
        }
        begun
    }

    /// Ends the building of these indexes.
    pub(crate) fn end_indexes(
        &mut self,
        command: &Document,
        names: &[String],
    ) -> Result<Document, Refusal> {
        let store = self.primary.store_of(command);
        let built = names.iter().try_for_each(|name| store.end_index(name));
        self.record("", command, 0, &built.clone().map(|()| Answered::Done));
        self.majority = self.primary.clone();
        built?;
        self.read_capacity();
        self.created_capacity = self.capacity;
        self.judge();
        Ok(Document::new())
    }

    /// Carries out a command `dropIndexes`. The plans that use the index end.
    pub(crate) fn drop_index(&mut self, command: &Document) -> Result<Document, Refusal> {
        let name = command.get_str("index").unwrap_or_default();
        if self.primary.store.building.is_empty() {
            self.end_plans(name);
        }
        let mut indexes = self.primary.store.indexes.iter();
        let found = indexes.find(|index| index.get_str("name") == Ok(name));
        let was_hidden = found.is_none_or(is_hidden);
        let dropped = self.primary.store_of(command).change_index(name, None);
        self.record("", command, 0, &dropped.clone().map(|()| Answered::Done));
        self.read_capacity();
        // Another change may have shown it again. Buckets that handles have opened meanwhile are sealed next.
        if was_hidden {
            self.created_capacity = self.capacity;
        }
        self.replicate();
        dropped.map(|()| Document::new())
    }

    /// Carries out a command `collMod`, which hides an index or shows it. The plans that use it go on.
    pub(crate) fn hide_index(&mut self, command: &Document) -> Result<Document, Refusal> {
        let index = command.get_document("index").expect("an index");
        let name = index.get_str("name").unwrap_or_default();
        let hidden = index.get_bool("hidden").ok();
        let store = self.primary.store_of(command);
        let changed = store.change_index(name, hidden);
        self.record("", command, 0, &changed.clone().map(|()| Answered::Done));
        self.replicate();
        changed.map(|()| Document::new())
    }

    fn read_capacity(&mut self) {
        let bound = |index: &Document| {
            let filter = index.get_document("partialFilterExpression").ok()?;
            filter
                .get_document("count")
                .ok()?
                .get("$lt")
                .and_then(number)
        };
        let bounds = self.primary.store.built_indexes().filter_map(bound);
        self.capacity = bounds.max().unwrap_or(self.capacity);
        self.most_capacity = self.most_capacity.max(self.capacity);
    }
}

//! The items that one transaction stores.

use std::collections::HashMap;

use bucket_core::protocol::command::{IndexedScope, KeyScope};
use bucket_runtime::__ops::Entry;

/// The items that one transaction stores, by key or window, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunk {
    pub(super) keys: Vec<ChunkKey>,
    /// The index of each key or window in `keys`, by the prefix of its ids.
    indexes: HashMap<String, usize>,
    /// Keys that may have no bucket yet; the next items are of the last one.
    pub(crate) new_keys: Vec<KeyScope>,
    /// Whether there may be no bucket at all yet.
    pub(crate) is_first: bool,
}

/// The items of one key or window.
#[derive(Debug, Clone)]
pub(super) struct ChunkKey {
    pub(super) scope: IndexedScope,
    pub(super) entries: Vec<Entry>,
    /// Whether the key may have no bucket yet.
    pub(super) is_new: bool,
}

impl Chunk {
    /// Adds an item of this key or window.
    pub(crate) fn push(&mut self, scope: IndexedScope, entry: Entry) {
        let next = self.keys.len();
        let index = *(self.indexes.entry(scope.prefix.clone())).or_insert(next);
        if index == next {
            let is_of = |key: &KeyScope| scope.prefix.starts_with(&key.prefix);
            self.keys.push(ChunkKey {
                is_new: self.new_keys.last().is_some_and(is_of),
                scope,
                entries: Vec::new(),
            });
        }
        self.keys[index].entries.push(entry);
    }

    /// How many items of this key or window it holds.
    pub(crate) fn items_of(&self, scope: &KeyScope) -> usize {
        let index = self.indexes.get(&scope.prefix);
        index.map_or(0, |index| self.keys[*index].entries.len())
    }
}

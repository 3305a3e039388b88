//! The items that one transaction stores.

use std::collections::HashMap;

use crate::{
    Bucket,
    protocol::command::{IndexedScope, KeyScope},
    write::{
        bulk::{BufferedItem, KeyItems},
        engine::NewestBucket,
    },
};

/// The items that one transaction stores, by key or window, in order.
pub(in crate::maintain) struct Chunk<T> {
    pub(super) keys: Vec<KeyItems<T>>,
    /// The index of each key or window in `keys`, by the prefix of its ids.
    indexes: HashMap<String, usize>,
    items: usize,
    /// Keys that may have no bucket yet.
    pub(super) new_keys: Vec<KeyScope>,
}

impl<T> Default for Chunk<T> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            indexes: HashMap::new(),
            items: 0,
            new_keys: Vec::new(),
        }
    }
}

impl<T: Bucket> Chunk<T> {
    /// Adds an item of this key or window.
    pub(in crate::maintain) fn push(&mut self, scope: &IndexedScope, item: T) {
        let index = self.items as u64;
        let item = BufferedItem { index, item };
        self.items += 1;
        if let Some(index) = self.indexes.get(&scope.prefix) {
            self.keys[*index].items.push(item);
            return;
        }
        let key_items = KeyItems::new(vec![item], scope.open);
        self.keys.extend(key_items.map(|mut key_items| {
            let is_of = |key: &KeyScope| scope.prefix.starts_with(&key.prefix);
            if self.new_keys.last().is_some_and(is_of) {
                key_items.newest_bucket = NewestBucket::Closed { last: None };
            }
            key_items
        }));
        self.indexes
            .insert(scope.prefix.clone(), self.keys.len() - 1);
    }

    /// How many items of this key or window it holds.
    pub(in crate::maintain) fn items_of(&self, scope: &KeyScope) -> usize {
        let index = self.indexes.get(&scope.prefix);
        index.map_or(0, |index| self.keys[*index].items.len())
    }

    /// Notes that the next items are of this key, which may have no bucket yet.
    pub(in crate::maintain) fn begin_new_key(&mut self, key: KeyScope) {
        self.new_keys.push(key);
    }

    pub(in crate::maintain) fn is_empty(&self) -> bool {
        self.items == 0
    }

    pub(in crate::maintain) fn len(&self) -> usize {
        self.items
    }
}

//! The items that one transaction stores.

use std::{collections::HashMap, sync::Arc};

use bucket_core::{
    protocol::{
        command::{IndexedScope, KeyScope},
        newest_bucket::NewestBucket,
    },
    schema::open_index::OpenIndex,
};
use bucket_runtime::__ops::{KeyItems, UntypedItem};

/// The items that one transaction stores, by key or window, in order.
#[derive(Default)]
pub(crate) struct Chunk {
    keys: Vec<ChunkKey>,
    /// The index of each key or window in `keys`, by the prefix of its ids.
    indexes: HashMap<String, usize>,
    /// Keys that may have no bucket yet.
    pub(super) new_keys: Vec<KeyScope>,
    /// Whether there may be no bucket at all yet.
    pub(super) is_first: bool,
}

/// The items of one key or window.
struct ChunkKey {
    open: OpenIndex,
    items: Vec<Box<dyn UntypedItem>>,
    /// Whether the key may have no bucket yet.
    is_new: bool,
}

impl Chunk {
    /// Adds an item of this key or window.
    pub(crate) fn push(&mut self, scope: &IndexedScope, item: impl UntypedItem + 'static) {
        let next = self.keys.len();
        let index = *(self.indexes.entry(scope.prefix.clone())).or_insert(next);
        if index == next {
            let is_of = |key: &KeyScope| scope.prefix.starts_with(&key.prefix);
            self.keys.push(ChunkKey {
                is_new: self.new_keys.last().is_some_and(is_of),
                open: scope.open,
                items: Vec::new(),
            });
        }
        self.keys[index].items.push(Box::new(item));
    }

    /// How many items of this key or window it holds.
    pub(crate) fn items_of(&self, scope: &KeyScope) -> usize {
        let index = self.indexes.get(&scope.prefix);
        index.map_or(0, |index| self.keys[*index].items.len())
    }

    /// Notes that the next items are of this key, which may have no bucket yet.
    pub(crate) fn begin_new_key(&mut self, key: KeyScope) {
        self.new_keys.push(key);
    }

    /// Notes that there may be no bucket at all yet.
    pub(crate) fn begin_collection(&mut self) {
        self.is_first = true;
    }

    /// Takes out the items of each key.
    pub(super) fn take_keys(&mut self) -> Vec<KeyItems> {
        let keys = self.keys.drain(..).map(|key| {
            let indexes = (0..key.items.len()).collect();
            let mut key_items = KeyItems::new(Arc::new(key.items), indexes, key.open);
            if key.is_new {
                key_items.newest_bucket = NewestBucket::Closed { last: None };
            }
            key_items
        });
        keys.collect()
    }
}

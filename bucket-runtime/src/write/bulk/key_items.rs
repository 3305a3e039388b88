//! The buffered items, by key.

use std::{collections::HashMap, mem};

use super::sizes::Sizes;
use crate::{
    Bucket, Result,
    protocol::command::{IndexedScope, KeyScope},
    schema::open_index::OpenIndex,
    write::{
        engine::{Engine, NewestBucket},
        item::{self, Entry},
    },
};

/// An item of a load that waits in the buffer.
#[derive(Debug)]
pub(crate) struct BufferedItem<T> {
    /// The position of the item in the call.
    pub(crate) index: u64,
    pub(crate) item: T,
}

/// The buffered items of one key, in the order of the call.
#[derive(Debug)]
pub(crate) struct KeyItems<T> {
    pub(crate) scope: IndexedScope,
    pub(crate) items: Vec<BufferedItem<T>>,
    pub(crate) newest_bucket: NewestBucket,
}

/// All buffered items, by the id prefix of their key.
#[derive(Debug)]
pub(crate) struct ItemsByKey<T> {
    keys: HashMap<String, Vec<BufferedItem<T>>>,
    bytes: usize,
    sizes: Sizes,
    /// A buffer for the prefix that looks up the next item's key.
    prefix: String,
}

impl<T> Default for ItemsByKey<T> {
    fn default() -> Self {
        Self {
            keys: HashMap::new(),
            bytes: 0,
            sizes: Sizes::default(),
            prefix: String::new(),
        }
    }
}

impl<T: Bucket> BufferedItem<T> {
    /// With a time ordinal, the id of a bucket that this item opens.
    pub(crate) fn opening_id(&self, scope: &KeyScope) -> Option<String> {
        // The time was checked when the item was taken.
        item::opening_id(scope, self.item.time()).ok().flatten()
    }

    /// The entry of the item.
    pub(crate) fn entry(&self, engine: &Engine, scope: &IndexedScope) -> Result<Entry> {
        item::entry(&self.item, scope, |kind| {
            engine.target_of(scope).error(kind)
        })
    }
}

impl<T: Bucket> KeyItems<T> {
    /// The items of one key; `None` if there are none.
    pub(crate) fn new(items: Vec<BufferedItem<T>>, open: OpenIndex) -> Option<Self> {
        Some(Self {
            scope: item::scope(&items.first()?.item).by(open),
            items,
            // With a capacity of 1 no bucket is ever open, so there is nothing to look for.
            newest_bucket: match open.capacity {
                1 => NewestBucket::NoneOpen,
                _ => NewestBucket::MustRead,
            },
        })
    }

    pub(crate) fn capacity(&self) -> usize {
        self.scope.open.capacity as usize
    }

    /// Splits off the first items.
    pub(crate) fn take_first(&mut self, items: usize) -> Self {
        let items = self.items.drain(..items).collect();
        self.with_items(items)
    }

    /// Splits off all items.
    pub(crate) fn take_all(&mut self) -> Self {
        self.take_first(self.items.len())
    }

    /// Other items of the same key.
    pub(crate) fn with_items(&self, items: Vec<BufferedItem<T>>) -> Self {
        Self {
            scope: self.scope.clone(),
            items,
            newest_bucket: NewestBucket::MustRead,
        }
    }
}

impl<T: Bucket> ItemsByKey<T> {
    pub(crate) fn push(&mut self, index: u64, item: T) {
        self.bytes += self.sizes.estimate(&item);
        self.prefix.clear();
        item::write_prefix(&item, &mut self.prefix);
        let item = BufferedItem { index, item };
        if let Some(items) = self.keys.get_mut(&self.prefix) {
            items.push(item);
        } else {
            // A map that has grown is half empty.
            self.bytes += 2 * mem::size_of::<(String, Vec<BufferedItem<T>>)>() + self.prefix.len();
            self.keys.insert(self.prefix.clone(), vec![item]);
        }
    }

    /// About how much memory the buffered items take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes out all items of each key, in at most this number of parts.
    pub(crate) fn take_parts(&mut self, parts: usize) -> Vec<Vec<Vec<BufferedItem<T>>>> {
        self.bytes = 0;
        let parts = parts.min(self.keys.len());
        let mut shared: Vec<_> = (0..parts).map(|_| Vec::new()).collect();
        for (n, (_, items)) in self.keys.drain().enumerate() {
            shared[n % parts].push(items);
        }
        shared
    }
}

//! The buffered items, by key.

use std::{collections::HashMap, mem};

use super::{failed::FailedItem, sizes::Sizes};
use crate::{
    Bucket, Error, Result,
    protocol::command::{IndexedScope, KeyScope},
    schema::open_index::OpenIndex,
    write::{
        engine::{Engine, NewestBucket},
        item::{self, Entry},
    },
};

/// An item of a load that waits in the buffer.
#[derive(Debug)]
pub(crate) struct Held<T> {
    /// The position of the item in the call.
    pub(crate) index: u64,
    pub(crate) item: T,
}

/// The buffered items of one key, in the order of the call.
#[derive(Debug)]
pub(crate) struct KeyItems<T> {
    pub(crate) scope: IndexedScope,
    pub(crate) held: Vec<Held<T>>,
    pub(crate) newest_bucket: NewestBucket,
}

/// All buffered items, by the id prefix of their key.
#[derive(Debug)]
pub(crate) struct ItemsByKey<T> {
    keys: HashMap<String, Vec<Held<T>>>,
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

impl<T: Bucket> Held<T> {
    /// With a time ordinal, the id of a bucket that this item opens.
    pub(crate) fn opening_id(&self, scope: &KeyScope) -> Option<String> {
        // The time was checked when the item was taken.
        item::opening_id(scope, self.item.time()).ok().flatten()
    }

    pub(crate) fn failed(self, error: Error) -> FailedItem<T> {
        let Self { index, item, .. } = self;
        FailedItem { index, item, error }
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
    pub(crate) fn new(held: Vec<Held<T>>, open: OpenIndex) -> Option<Self> {
        Some(Self {
            scope: item::scope(&held.first()?.item).by(open),
            held,
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
    pub(crate) fn split_to(&mut self, items: usize) -> Self {
        let held = self.held.drain(..items).collect();
        self.with(held)
    }

    /// Other items of the same key.
    pub(crate) fn with(&self, held: Vec<Held<T>>) -> Self {
        Self {
            scope: self.scope.clone(),
            held,
            newest_bucket: NewestBucket::MustRead,
        }
    }
}

impl<T: Bucket> ItemsByKey<T> {
    pub(crate) fn push(&mut self, index: u64, item: T) {
        self.bytes += self.sizes.estimate(&item);
        self.prefix.clear();
        item::write_prefix(&item, &mut self.prefix);
        let held = Held { index, item };
        if let Some(of_key) = self.keys.get_mut(&self.prefix) {
            of_key.push(held);
        } else {
            // A map that has grown is half empty.
            self.bytes += 2 * mem::size_of::<(String, Vec<Held<T>>)>() + self.prefix.len();
            self.keys.insert(self.prefix.clone(), vec![held]);
        }
    }

    /// About how much memory the buffered items take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes out all items of each key, in at most this number of parts.
    pub(crate) fn take_parts(&mut self, parts: usize) -> Vec<Vec<Vec<Held<T>>>> {
        self.bytes = 0;
        let parts = parts.min(self.keys.len());
        let mut shared: Vec<_> = (0..parts).map(|_| Vec::new()).collect();
        for (n, (_, of_key)) in self.keys.drain().enumerate() {
            shared[n % parts].push(of_key);
        }
        shared
    }
}

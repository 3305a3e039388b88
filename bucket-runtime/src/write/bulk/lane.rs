//! Items that are held back, by key.

use std::collections::HashMap;

use super::{failed::FailedItem, sizes::Sizes};
use crate::{
    Bucket, Error, Result,
    protocol::command::KeyScope,
    write::{
        engine::{Engine, Tail},
        item::{self, Entry},
    },
};

/// An item that waits.
#[derive(Debug)]
pub(crate) struct Held<T> {
    /// Where it stood in the call.
    pub(crate) index: u64,
    pub(crate) item: T,
}

/// The items of one key, in the order of the call.
#[derive(Debug)]
pub(crate) struct Lane<T> {
    pub(crate) scope: KeyScope,
    pub(crate) held: Vec<Held<T>>,
    pub(crate) tail: Tail,
}

/// All that waits.
#[derive(Debug)]
pub(crate) struct Lanes<T> {
    lanes: HashMap<String, Lane<T>>,
    bytes: usize,
    sizes: Sizes,
    /// What an item's lane is looked up by.
    prefix: String,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self {
            lanes: HashMap::new(),
            bytes: 0,
            sizes: Sizes::default(),
            prefix: String::new(),
        }
    }
}

impl<T: Bucket> Held<T> {
    /// The id of a bucket that begins with this item, with a time ordinal.
    pub(crate) fn base(&self, scope: &KeyScope) -> Option<String> {
        // The time was checked when the item came.
        item::base(scope, self.item.time()).ok().flatten()
    }

    pub(crate) fn failed(self, error: Error) -> FailedItem<T> {
        let Self { index, item, .. } = self;
        FailedItem { index, item, error }
    }

    /// The item as the append protocol carries it.
    pub(crate) fn entry(&self, engine: &Engine, scope: &KeyScope) -> Result<Entry> {
        item::entry(&self.item, scope, |kind| engine.fail(scope, kind))
    }
}

impl<T: Bucket> Lane<T> {
    pub(crate) fn capacity(&self) -> usize {
        self.scope.open.capacity as usize
    }

    /// The first items, as a lane of their own.
    pub(crate) fn split_to(&mut self, items: usize) -> Self {
        let held = self.held.drain(..items).collect();
        self.with(held)
    }

    /// A lane of the same key.
    pub(crate) fn with(&self, held: Vec<Held<T>>) -> Self {
        Self {
            scope: self.scope.clone(),
            held,
            tail: Tail::Look,
        }
    }
}

impl<T: Bucket> Lanes<T> {
    pub(crate) fn push(&mut self, index: u64, item: T) {
        self.bytes += self.sizes.estimate(&item);
        self.prefix.clear();
        item::write_prefix(&item, &mut self.prefix);
        let held = Held { index, item };
        if let Some(lane) = self.lanes.get_mut(&self.prefix) {
            lane.held.push(held);
        } else {
            let scope = item::scope(&held.item);
            let lane = Lane {
                held: vec![held],
                // Without a bucket that can be open there is nothing to look for.
                tail: match scope.open.capacity {
                    1 => Tail::Shut,
                    _ => Tail::Look,
                },
                scope,
            };
            self.lanes.insert(lane.scope.prefix.clone(), lane);
        }
    }

    /// About how much memory the items take that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes out the lanes, in so many parts at most.
    pub(crate) fn take_parts(&mut self, parts: usize) -> Vec<Vec<Lane<T>>> {
        self.bytes = 0;
        let parts = parts.min(self.lanes.len());
        let mut shared: Vec<_> = (0..parts).map(|_| Vec::new()).collect();
        for (n, (_, lane)) in self.lanes.drain().enumerate() {
            shared[n % parts].push(lane);
        }
        shared
    }
}

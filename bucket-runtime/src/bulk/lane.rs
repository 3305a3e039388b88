//! Items that are held back, by key.

use std::{collections::HashMap, mem};

use mongodb::bson::Bson;

use super::failed::FailedItem;
use crate::{
    Bucket, Error,
    command::KeyScope,
    element::Element,
    engine::{Entry, Tail},
    item,
};

/// An item that waits.
#[derive(Debug)]
pub(super) struct Held<T> {
    /// Where it stood in the call.
    pub(super) index: u64,
    pub(super) item: T,
    pub(super) element: Element,
}

/// The items of one key, in the order of the call.
#[derive(Debug)]
pub(super) struct Lane<T> {
    pub(super) scope: KeyScope,
    pub(super) held: Vec<Held<T>>,
    pub(super) tail: Tail,
}

/// All that waits.
#[derive(Debug)]
pub(super) struct Lanes<T> {
    lanes: HashMap<String, Lane<T>>,
    bytes: usize,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self {
            lanes: HashMap::new(),
            bytes: 0,
        }
    }
}

impl<T: Bucket> Held<T> {
    /// The id of a bucket that begins with this item, with a time ordinal.
    pub(super) fn base(&self, scope: &KeyScope) -> Option<String> {
        // The time was checked when the item came.
        item::base(scope, self.item.time()).ok().flatten()
    }

    pub(super) fn failed(self, error: Error) -> FailedItem<T> {
        let Self { index, item, .. } = self;
        FailedItem { index, item, error }
    }

    /// The item as the append protocol carries it.
    pub(super) fn entry(&self, scope: &KeyScope) -> Entry {
        Entry {
            // What was written as BSON can be read as BSON.
            element: Bson::try_from(self.element.value()).unwrap_or(Bson::Null),
            base: self.base(scope),
        }
    }

    /// How much memory it takes, and more than it takes in a document.
    pub(super) fn bytes(&self) -> usize {
        mem::size_of::<Self>() + self.element.size()
    }
}

impl<T: Bucket> Lane<T> {
    pub(super) fn capacity(&self) -> usize {
        self.scope.spec.capacity as usize
    }

    /// The first items, as a lane of their own.
    pub(super) fn split_to(&mut self, items: usize) -> Self {
        let held = self.held.drain(..items).collect();
        self.with(held)
    }

    /// A lane of the same key.
    pub(super) fn with(&self, held: Vec<Held<T>>) -> Self {
        Self {
            scope: self.scope.clone(),
            held,
            tail: Tail::Look,
        }
    }
}

impl<T: Bucket> Lanes<T> {
    pub(super) fn push(&mut self, scope: KeyScope, held: Held<T>) {
        self.bytes += held.bytes();
        if let Some(lane) = self.lanes.get_mut(&scope.prefix) {
            lane.held.push(held);
        } else {
            let lane = Lane {
                held: vec![held],
                // Without a bucket that can be open there is nothing to look for.
                tail: if scope.spec.capacity == 1 {
                    Tail::Full { last: None }
                } else {
                    Tail::Look
                },
                scope,
            };
            self.lanes.insert(lane.scope.prefix.clone(), lane);
        }
    }

    /// About how much memory the items take that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The lanes, in so many parts.
    pub(super) fn into_parts(self, parts: usize) -> Vec<Vec<Lane<T>>> {
        let mut shared: Vec<_> = (0..parts).map(|_| Vec::new()).collect();
        for (n, lane) in self.lanes.into_values().enumerate() {
            shared[n % parts].push(lane);
        }
        shared
    }
}

//! The items of one key.

use std::sync::Arc;

use bucket_core::{protocol::command::IndexedScope, schema::open_index::OpenIndex};

use crate::{
    Result,
    write::{
        engine::{Engine, NewestBucket},
        item::{self, Entry, UntypedItem, UntypedItems},
    },
};

/// The buffered items of one key, in the order of the call.
pub(super) struct KeyItems {
    /// Their key, or their window of it.
    pub(super) scope: IndexedScope,
    /// The items of all keys.
    pub(super) all: Arc<dyn UntypedItems>,
    /// The indexes of this key's items.
    pub(super) indexes: Vec<usize>,
    /// The newest bucket of the key, as far as it is known.
    pub(super) newest_bucket: NewestBucket,
}

impl KeyItems {
    /// At least one item.
    pub(super) fn new(all: Arc<dyn UntypedItems>, indexes: Vec<usize>, open: OpenIndex) -> Self {
        Self {
            scope: all.item(indexes[0]).scope().by(open),
            all,
            indexes,
            newest_bucket: NewestBucket::MustRead,
        }
    }

    /// Splits off the first items.
    pub(super) fn take_first(&mut self, items: usize) -> Self {
        let indexes = self.indexes.drain(..items).collect();
        self.with_items(indexes)
    }

    /// Splits off all items.
    pub(super) fn take_all(&mut self) -> Self {
        self.take_first(self.indexes.len())
    }

    /// Other items of the same key.
    pub(super) fn with_items(&self, indexes: Vec<usize>) -> Self {
        Self {
            scope: self.scope.clone(),
            all: Arc::clone(&self.all),
            indexes,
            newest_bucket: NewestBucket::MustRead,
        }
    }

    /// The item at this place of the load.
    pub(super) fn item(&self, index: usize) -> &dyn UntypedItem {
        self.all.item(index)
    }

    /// With a time ordinal, the id of a bucket that this item opens.
    pub(super) fn opening_id(&self, index: usize) -> Option<String> {
        item::opening_id(&self.scope, self.item(index).time())
    }

    /// The entry of an item.
    pub(super) fn entry(&self, engine: &Engine, index: usize) -> Result<Entry> {
        let fail = |kind| engine.target_of(&self.scope).error(kind);
        item::entry(self.item(index), &self.scope, &fail)
    }
}

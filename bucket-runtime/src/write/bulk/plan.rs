//! Plans the buckets in which a key's items are written.

use std::{
    collections::{HashSet, VecDeque},
    mem,
};

use bucket_core::{protocol::next_id::NextIds, value::number::comparable};

use super::key_items::KeyItems;
use crate::write::{engine::NewestBucket, item};

/// A bucket that is written as a whole.
#[derive(Debug)]
pub(super) struct PlannedBucket {
    pub(super) id: String,
    pub(super) indexes: Vec<usize>,
    /// Whether it takes no further items although it has room by count.
    pub(super) sealed: bool,
    /// The bytes that its items take beyond their shares, if it takes further items.
    pub(super) oversize: i64,
}

/// Buckets to write, and the keys that they belong to.
pub(super) struct PlannedBuckets<'k> {
    pub(super) keys: &'k mut [KeyItems],
    /// The buckets in the order in which they are written, each with the index of its key.
    pub(super) buckets: VecDeque<(usize, PlannedBucket)>,
}

impl PlannedBuckets<'_> {
    /// Puts the items of the key's next buckets back.
    pub(super) fn take_back(&mut self, at: usize) {
        let next = self.buckets.iter().take_while(|(of, _)| *of == at).count();
        let next = self.buckets.drain(..next);
        let key_items = &mut self.keys[at];
        (key_items.indexes).extend(next.flat_map(|(_, bucket)| bucket.indexes));
        key_items.indexes.sort_unstable();
        key_items.newest_bucket = NewestBucket::MustRead;
    }
}

impl KeyItems {
    /// Plans the next buckets, in the order in which they must be written; `None` if the items must
    /// be written one by one. Items that remain are pushed afterwards.
    ///
    /// Another writer may open a bucket while these are written. With `{#}` it takes one of their
    /// numbers, and the buckets after that number are refused; the same happens in a window. With a
    /// time ordinal the last bucket is written first, with room left: while it is open no other can
    /// be opened, so everything that other writers append comes after it.
    pub(super) fn plan_buckets(&mut self) -> Option<Vec<PlannedBucket>> {
        let capacity = self.scope.capacity();
        let is_last_first = !self.scope.spec.id.ordinal.counts() && capacity > 1;
        let ids = self.plan_ids()?;
        if (self.indexes.chunks(capacity)).any(|indexes| self.has_twins(indexes)) {
            return None;
        }
        // If an id turns out to be taken, the other ids of its moment change. The id of the last
        // bucket, which is already written, could not change, and it must remain the last one.
        let first_of_last = self.indexes.chunks(capacity).next_back()?.first()?;
        if is_last_first && ids.last() != self.opening_id(*first_of_last).as_ref() {
            return None;
        }
        let rest = self.indexes.split_off(match self.indexes.len() % capacity {
            0 if is_last_first => self.indexes.len() - 1,
            _ => self.indexes.len(),
        });
        let mut indexes = mem::replace(&mut self.indexes, rest).into_iter();
        let mut buckets: Vec<_> = (ids.into_iter())
            .map(|id| PlannedBucket {
                id,
                indexes: indexes.by_ref().take(capacity).collect(),
                sealed: false,
                oversize: 0,
            })
            .collect();
        if is_last_first {
            buckets.rotate_right(1);
        }
        Some(buckets)
    }

    /// Whether two items of a bucket have the same identity: the unique index compares only items
    /// of different buckets.
    fn has_twins(&self, indexes: &[usize]) -> bool {
        let Some(field) = self.scope.spec.unique else {
            return false;
        };
        let mut identities = HashSet::new();
        let found = indexes.iter();
        let mut found = found.filter_map(|index| item::identity(self.item(*index), field));
        found.any(|identity| !identities.insert(comparable(&identity)))
    }

    /// The ids of the next buckets, each of which takes as many items as the capacity allows.
    fn plan_ids(&self) -> Option<Vec<String>> {
        let last = match &self.newest_bucket {
            NewestBucket::Closed { last } => last.as_deref(),
            _ => None,
        };
        // With a time ordinal, it does not tell the last id of each moment.
        let last = last.filter(|_| self.scope.spec.id.ordinal.counts());
        let mut next = NextIds::default();
        let buckets = self.indexes.chunks(self.scope.capacity());
        let opening_ids = buckets.map(|indexes| self.opening_id(indexes[0]));
        let ids = opening_ids.map(|opening_id| next.advance(&self.scope, opening_id, last));
        ids.collect()
    }
}

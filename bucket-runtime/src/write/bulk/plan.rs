//! Plans the buckets in which a key's items are written.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    mem,
};

use serde::{Serialize, Serializer};

use super::key_items::{BufferedItem, KeyItems};
use crate::{
    Bucket,
    protocol::{
        command::{IndexedScope, KeyScope},
        next_id::next_id,
        whole_bucket::{Summary, WholeBucket},
    },
    value::element::comparable,
    write::{
        engine::NewestBucket,
        item::{self, ItemElement},
    },
};

/// A bucket that is written as a whole.
#[derive(Debug)]
pub(crate) struct PlannedBucket<T> {
    pub(crate) id: String,
    pub(crate) items: Vec<BufferedItem<T>>,
    /// Whether it takes no further items although it has room by count.
    pub(crate) sealed: bool,
    /// The bytes that its items take beyond their shares, if it takes further items.
    pub(crate) oversize: i64,
}

impl<T: Bucket> PlannedBucket<T> {
    /// The bucket as a document; `None` if only the server can compute its rollup.
    pub(crate) fn document<'b>(
        &'b self,
        scope: &'b IndexedScope,
    ) -> Option<WholeBucket<'b, BufferedElements<'b, T>>> {
        Some(WholeBucket {
            scope,
            id: &self.id,
            count: self.items.len(),
            elements: BufferedElements(&self.items),
            summary: Summary::of(self.items.iter().map(|buffered| &buffered.item))?,
            oversize: self.oversize,
            sealed: self.sealed,
        })
    }
}

/// Whether two items of a bucket have the same identity: the unique index compares only items of
/// different buckets.
pub(crate) fn has_twins<T: Bucket>(items: &[BufferedItem<T>]) -> bool {
    let Some(field) = T::SPEC.unique else {
        return false;
    };
    let mut identities = HashSet::new();
    let mut found = items
        .iter()
        .filter_map(|buffered| item::identity(&buffered.item, field));
    found.any(|identity| !identities.insert(comparable(&identity)))
}

/// Buckets to write, and the keys that they belong to.
pub(super) struct PlannedBuckets<'k, T> {
    pub(super) keys: &'k mut [KeyItems<T>],
    /// The buckets in the order in which they are written, each with the index of its key.
    pub(super) buckets: VecDeque<(usize, PlannedBucket<T>)>,
}

impl<'k, T: Bucket> PlannedBuckets<'k, T> {
    pub(super) fn new(keys: &'k mut [KeyItems<T>]) -> Self {
        Self {
            keys,
            buckets: VecDeque::new(),
        }
    }

    /// Adds buckets of one key.
    pub(super) fn extend(&mut self, at: usize, buckets: Vec<PlannedBucket<T>>) {
        (self.buckets).extend(buckets.into_iter().map(|bucket| (at, bucket)));
    }

    /// Puts a bucket's items back, with those of the key's next buckets.
    pub(super) fn take_back(&mut self, at: usize, bucket: PlannedBucket<T>) {
        self.keys[at].take_back([bucket]);
        self.take_back_next_of(at);
    }

    /// Puts the items of the key's next buckets back.
    pub(super) fn take_back_next_of(&mut self, at: usize) {
        let next = self.buckets.iter().take_while(|(of, _)| *of == at).count();
        let next = self.buckets.drain(..next);
        self.keys[at].take_back(next.map(|(_, bucket)| bucket));
    }
}

impl<T: Bucket> KeyItems<T> {
    /// Plans the next buckets, in the order in which they must be written; `None` if the items must be
    /// written one by one. Items that remain are pushed afterwards.
    ///
    /// Another writer may open a bucket while these are written. With `{#}` it takes one of
    /// their numbers, and the buckets after that number are refused; the same happens in a window. With a
    /// time ordinal the last bucket is written first, with room left: while it is open no other can be
    /// opened, so everything that other writers append comes after it.
    pub(crate) fn plan_buckets(&mut self) -> Option<Vec<PlannedBucket<T>>> {
        let capacity = self.capacity();
        let is_last_first = !self.scope.spec.id.ordinal.counts() && capacity > 1;
        let ids = self.plan_ids()?;
        if self.items.chunks(capacity).any(has_twins) {
            return None;
        }
        // If an id turns out to be taken, the other ids of its moment change. The id of the last bucket,
        // which is already written, could not change, and it must remain the last one.
        let first_of_last = self.items.chunks(capacity).next_back()?.first()?;
        if is_last_first && ids.last() != first_of_last.opening_id(&self.scope).as_ref() {
            return None;
        }
        let rest = self.items.split_off(match self.items.len() % capacity {
            0 if is_last_first => self.items.len() - 1,
            _ => self.items.len(),
        });
        let mut items = mem::replace(&mut self.items, rest).into_iter();
        let mut buckets: Vec<_> = (ids.into_iter())
            .map(|id| PlannedBucket {
                id,
                items: items.by_ref().take(capacity).collect(),
                sealed: false,
                oversize: 0,
            })
            .collect();
        if let Some(last) = buckets.last() {
            let room = capacity - last.items.len();
            self.newest_bucket = NewestBucket::with_room(&last.id, room, 0);
        }
        if is_last_first {
            buckets.rotate_right(1);
        }
        Some(buckets)
    }

    /// The ids of the next buckets, each of which takes as many items as the capacity allows.
    fn plan_ids(&self) -> Option<Vec<String>> {
        let last = match &self.newest_bucket {
            NewestBucket::Closed { last } => last.clone(),
            _ => None,
        };
        let window = self.scope.window.map(|_| self.scope.prefix.clone());
        let mut ids = NextIds::new(window, last);
        let buckets = self.items.chunks(self.capacity());
        let opening_ids = buckets.map(|items| items[0].opening_id(&self.scope));
        opening_ids
            .map(|opening_id| ids.advance(opening_id, &self.scope))
            .collect()
    }

    /// Puts the items of unwritten buckets back, with everything after them.
    pub(crate) fn take_back(&mut self, buckets: impl IntoIterator<Item = PlannedBucket<T>>) {
        (self.items).extend(buckets.into_iter().flat_map(|bucket| bucket.items));
        self.items.sort_unstable_by_key(|buffered| buffered.index);
        self.newest_bucket = NewestBucket::MustRead;
    }
}

/// The ids of a key's next buckets.
pub(crate) struct NextIds {
    /// The last id of each moment or window, by the opening id, or of a numbered key.
    last: HashMap<Option<String>, String>,
}

impl NextIds {
    /// The ids after `last`, which exists: of the key or, with an opening id, of its moment or window.
    pub(crate) fn new(opening_id: Option<String>, last: Option<String>) -> Self {
        let last = last.map(|last| (opening_id, last));
        Self {
            last: last.into_iter().collect(),
        }
    }

    /// The next id; `None` if none is left, or the last one does not have this format.
    pub(crate) fn advance(
        &mut self,
        opening_id: Option<String>,
        scope: &KeyScope,
    ) -> Option<String> {
        let last = self.last.get(&opening_id).map(String::as_str);
        let next = next_id(scope, opening_id.as_deref(), last).ok().flatten()?;
        self.last.insert(opening_id, next.clone());
        Some(next)
    }
}

/// The items as they are stored.
#[derive(Debug)]
pub(crate) struct BufferedElements<'c, T>(pub(super) &'c [BufferedItem<T>]);

impl<T: Bucket> Serialize for BufferedElements<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|buffered| ItemElement(&buffered.item)))
    }
}

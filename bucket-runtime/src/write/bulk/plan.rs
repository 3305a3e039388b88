//! Plans the buckets in which a key's items are written.

use std::collections::{HashMap, HashSet};

use serde::{Serialize, Serializer};

use super::key_items::{Held, KeyItems};
use crate::{
    Bucket,
    protocol::{
        command::KeyScope,
        whole_bucket::{Summary, WholeBucket},
    },
    schema::id,
    value::element::comparable,
    write::{
        engine::{NewestBucket, next_number},
        item::{self, Fields},
    },
};

/// A bucket that is written as a whole.
#[derive(Debug)]
pub(crate) struct PlannedBucket<T> {
    pub(crate) id: String,
    pub(crate) held: Vec<Held<T>>,
    /// Whether it takes no further items although it has room by count.
    pub(crate) sealed: bool,
    /// The bytes that its items take beyond their shares, if it takes further items.
    pub(crate) oversize: i64,
}

impl<T: Bucket> PlannedBucket<T> {
    /// The bucket as a document; `None` if only the server can compute its rollup.
    pub(crate) fn document<'b>(
        &'b self,
        scope: &'b KeyScope,
    ) -> Option<WholeBucket<'b, Elements<'b, T>>> {
        Some(WholeBucket {
            scope,
            id: &self.id,
            count: self.held.len(),
            elements: Elements(&self.held),
            summary: Summary::of(self.held.iter().map(|held| &held.item))?,
            oversize: self.oversize,
            sealed: self.sealed,
        })
    }
}

/// Whether two items of a bucket have the same identity: the unique index compares only items of
/// different buckets.
pub(crate) fn has_twins<T: Bucket>(held: &[Held<T>]) -> bool {
    let Some(field) = T::SPEC.unique else {
        return false;
    };
    let mut identities = HashSet::new();
    let identity = |held: &Held<T>| item::identity(&held.item, field);
    (held.iter().filter_map(identity)).any(|identity| !identities.insert(comparable(&identity)))
}

impl<T: Bucket> KeyItems<T> {
    /// Plans the next buckets, in the order in which they must be written; `None` if the items must be
    /// written one by one. Items that remain are pushed afterwards.
    ///
    /// If `are_others`, another writer may open a bucket while these are written. With `{#}` it takes one of
    /// their numbers, and the buckets after that number are refused; the same happens in a window. With a
    /// time ordinal the last bucket is written first, with room left: while it is open no other can be
    /// opened, so everything that other writers append comes after it.
    pub(crate) fn chunks(&mut self, are_others: bool) -> Option<Vec<PlannedBucket<T>>> {
        let capacity = self.capacity();
        let guard = are_others && !self.scope.spec.id.ordinal.counts() && capacity > 1;
        let mut ids = Ids::behind(
            self.scope.window.map(|_| self.scope.prefix.clone()),
            match &self.newest_bucket {
                NewestBucket::Closed { last } => last.clone(),
                _ => None,
            },
        );
        let begins = (self.held.chunks(capacity))
            .map(|held| ids.next(held[0].opening_id(&self.scope), &self.scope));
        let ids: Vec<_> = begins.collect::<Option<_>>()?;
        if self.held.chunks(capacity).any(has_twins) {
            return None;
        }
        // If an id turns out to be taken, the other ids of its moment change. The id of the last bucket,
        // which is already written, could not change, and it must remain the last one.
        let begin_of_last = self.held.chunks(capacity).next_back()?.first()?;
        if guard && ids.last() != begin_of_last.opening_id(&self.scope).as_ref() {
            return None;
        }
        let last = self.held.split_off(match self.held.len() % capacity {
            0 if guard => self.held.len() - 1,
            _ => self.held.len(),
        });
        let mut held = std::mem::replace(&mut self.held, last).into_iter();
        let mut chunks: Vec<_> = (ids.into_iter())
            .map(|id| {
                let held = held.by_ref().take(capacity).collect();
                PlannedBucket {
                    id,
                    held,
                    sealed: false,
                    oversize: 0,
                }
            })
            .collect();
        if let Some(last) = chunks.last() {
            let id = last.id.clone();
            self.newest_bucket = match capacity - last.held.len() {
                0 => NewestBucket::Closed { last: Some(id) },
                room => NewestBucket::Open {
                    id,
                    room,
                    oversize: 0,
                },
            };
        }
        if guard {
            chunks.rotate_right(1);
        }
        Some(chunks)
    }

    /// Puts the items of unwritten buckets back, with everything after them.
    pub(crate) fn take_back(&mut self, chunks: impl IntoIterator<Item = PlannedBucket<T>>) {
        (self.held).extend(chunks.into_iter().flat_map(|chunk| chunk.held));
        self.held.sort_unstable_by_key(|held| held.index);
        self.newest_bucket = NewestBucket::MustRead;
    }
}

/// The ids of a key's next buckets.
pub(crate) struct Ids {
    /// With `{#}`, the last id.
    last: Option<String>,
    /// With a time ordinal, the last id of each moment or window.
    moments: HashMap<String, String>,
}

impl Ids {
    /// The ids after an existing bucket: the last one of its key or of its moment.
    pub(crate) fn behind(opening_id: Option<String>, last: Option<String>) -> Self {
        match (opening_id, last) {
            (Some(opening_id), Some(last)) => Self {
                last: None,
                moments: HashMap::from([(opening_id, last)]),
            },
            (_, last) => Self {
                last,
                moments: HashMap::new(),
            },
        }
    }

    /// `None` if no id is left, or the last one does not have this format.
    pub(crate) fn next(&mut self, opening_id: Option<String>, scope: &KeyScope) -> Option<String> {
        if let Some(opening_id) = opening_id {
            let last = self.moments.get(&opening_id).map(String::as_str);
            let next = id::next_suffix(&opening_id, last).ok().flatten()?;
            self.moments.insert(opening_id, next.clone());
            Some(next)
        } else {
            let next = next_number(scope, self.last.as_deref()).ok().flatten()?;
            self.last = Some(next.clone());
            Some(next)
        }
    }
}

/// The items as they are stored.
#[derive(Debug)]
pub(crate) struct Elements<'c, T>(pub(super) &'c [Held<T>]);

impl<T: Bucket> Serialize for Elements<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|held| Fields(&held.item)))
    }
}

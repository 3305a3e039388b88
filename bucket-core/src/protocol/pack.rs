//! Which successive items share a bucket, if each bucket takes as many as it can.

use crate::protocol::{budget::Budget, command::IndexedScope};

/// Successive items that share a bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pack {
    /// The number of items.
    pub len: usize,
    /// The bytes that they take beyond their shares.
    pub oversize: i64,
}

/// A bucket that takes items one after the other, as long as it has room for them.
#[derive(Debug, Clone, Copy)]
pub struct Packer {
    budget: Option<Budget>,
    /// How many items the bucket takes.
    room: usize,
    /// The oversize of the items that the bucket held before; `None` for a new bucket.
    before: Option<i64>,
    pack: Pack,
}

impl Packer {
    /// A new bucket of the key.
    pub(crate) fn of(scope: &IndexedScope) -> Self {
        Self::with_room(scope, scope.capacity(), None)
    }

    /// A bucket of the key that takes this many items; `before` is the oversize of an existing one.
    pub fn with_room(scope: &IndexedScope, room: usize, before: Option<i64>) -> Self {
        Self {
            budget: Budget::of(scope),
            room,
            before,
            pack: Pack::default(),
        }
    }

    /// Whether the bucket takes no further item, whatever its size.
    pub(crate) fn is_full(&self) -> bool {
        self.pack.len >= self.room
    }

    /// Whether the bucket has room for an item of this size. The first item of a bucket may take
    /// all of its bytes.
    pub fn takes(&self, bytes: usize) -> bool {
        let is_first = self.before.is_none() && self.pack.len == 0;
        let oversize = self.before.unwrap_or(0) + self.pack.oversize;
        let has_bytes = |budget: Budget| budget.takes(oversize, budget.oversize(bytes));
        !self.is_full() && (is_first || self.budget.is_none_or(has_bytes))
    }

    pub fn add(&mut self, bytes: usize) {
        self.pack.len += 1;
        self.pack.oversize += self.budget.map_or(0, |budget| budget.oversize(bytes));
    }

    /// The items that were added.
    pub fn pack(&self) -> Pack {
        self.pack
    }
}

/// How the key's buckets divide values of these sizes.
pub fn packs(scope: &IndexedScope, sizes: impl IntoIterator<Item = usize>) -> Vec<Pack> {
    let new = Packer::of(scope);
    let (mut packs, mut packer) = (Vec::new(), new);
    for size in sizes {
        if !packer.takes(size) {
            packs.push(packer.pack());
            packer = new;
        }
        packer.add(size);
    }
    if packer.pack().len > 0 {
        packs.push(packer.pack());
    }
    packs
}

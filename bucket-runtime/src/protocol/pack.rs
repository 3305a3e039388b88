//! Which successive items share a bucket, if each bucket takes as many as it can.

use crate::protocol::{budget::Budget, command::KeyScope};

/// Successive items that share a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pack {
    /// The number of items.
    pub(crate) len: usize,
    /// The bytes that they take beyond their shares.
    pub(crate) oversize: i64,
}

/// How the key's buckets divide values of these sizes.
pub(crate) fn packs(scope: &KeyScope, sizes: impl IntoIterator<Item = usize>) -> Vec<Pack> {
    let capacity = scope.open.capacity as usize;
    let budget = Budget::of(scope);
    let takes = |taken, more| budget.is_none_or(|budget| budget.takes(taken, more));
    let mut packs: Vec<Pack> = Vec::new();
    for size in sizes {
        let oversize = budget.map_or(0, |budget| budget.oversize(size));
        match packs.last_mut() {
            Some(last) if last.len < capacity && takes(last.oversize, oversize) => {
                last.len += 1;
                last.oversize += oversize;
            }
            _ => packs.push(Pack { len: 1, oversize }),
        }
    }
    packs
}

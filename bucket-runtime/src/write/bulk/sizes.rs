//! Estimates how much memory items take, without writing each as BSON.

use std::mem;

use crate::write::item::UntypedItem;

/// One in this many items is measured: writing it as BSON is most of the cost of storing it here.
const ITEMS_PER_SAMPLE: u64 = 64;

/// The measurements so far.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    seen: u64,
    measured: u64,
    bytes: u64,
}

impl Sizes {
    /// About how much memory a buffered item takes: the struct and its index, and the data that it
    /// points to, estimated by the length of its BSON. For most items that is the average of the
    /// measured ones.
    pub(super) fn estimate(&mut self, item: &dyn UntypedItem) -> usize {
        if self.seen < ITEMS_PER_SAMPLE || is_sample(self.seen) {
            // An item that cannot be written is refused when it is sent.
            self.bytes += item.element().map_or(0, |element| element.size() as u64);
            self.measured += 1;
        }
        self.seen += 1;
        let average = usize::try_from(self.bytes / self.measured);
        mem::size_of_val(item) + mem::size_of::<usize>() + average.unwrap_or(usize::MAX)
    }
}

/// Selects one in [`ITEMS_PER_SAMPLE`] numbers, without a rhythm that large items could share.
fn is_sample(n: u64) -> bool {
    // 2^64 divided by the golden ratio spreads the multiples evenly over all values.
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15) < u64::MAX / ITEMS_PER_SAMPLE
}

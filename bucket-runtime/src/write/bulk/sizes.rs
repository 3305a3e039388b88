//! How much memory items take, without writing each of them as BSON.

use std::mem;

use super::key_items::Held;
use crate::{Bucket, write::item};

/// One in so many items is measured: writing it as BSON is most of what it costs here to store it.
const EVERY: u64 = 64;

/// What was measured so far.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    seen: u64,
    measured: u64,
    bytes: u64,
}

impl Sizes {
    /// About how much memory an item takes that waits: the struct, and what it holds elsewhere,
    /// for which the length of its BSON stands. That of most items is taken for the average.
    pub(crate) fn estimate<T: Bucket>(&mut self, item: &T) -> usize {
        if self.seen < EVERY || is_sample(self.seen) {
            // One that cannot be written is refused when it is to be sent.
            self.bytes += item::element(item).map_or(0, |element| element.size() as u64);
            self.measured += 1;
        }
        self.seen += 1;
        let average = usize::try_from(self.bytes / self.measured);
        mem::size_of::<Held<T>>() + average.unwrap_or(usize::MAX)
    }
}

/// Chooses one in [`EVERY`] numbers, in no rhythm that large items could have as well.
fn is_sample(n: u64) -> bool {
    // 2^64 divided by the golden ratio spreads the multiples over all values evenly.
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15) < u64::MAX / EVERY
}

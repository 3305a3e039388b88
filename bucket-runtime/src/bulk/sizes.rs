//! How much memory items take, without writing each of them as BSON.

use std::mem;

use super::lane::Held;
use crate::{Bucket, item};

/// One in so many items is measured. Writing an item as BSON is most of what storing it costs here.
const EVERY: u64 = 16;

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
        if self.seen < EVERY || rand::random_ratio(1, EVERY as u32) {
            // One that cannot be written is refused when it is to be sent.
            self.bytes += measure(item) as u64;
            self.measured += 1;
        }
        self.seen += 1;
        let average = usize::try_from(self.bytes / self.measured.max(1));
        mem::size_of::<Held<T>>() + average.unwrap_or(usize::MAX)
    }
}

/// How many bytes an item's element takes in a document; 0 if it cannot be written.
pub(crate) fn measure<T: Bucket>(item: &T) -> usize {
    item::element(item).map_or(0, |element| element.size())
}

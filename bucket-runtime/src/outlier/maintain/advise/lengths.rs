//! The lengths of a collection's arrays.

/// All documents whose arrays have the same length: how many there are, and their size in bytes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_structs,
    reason = "whoever counts elsewhere makes one"
)]
pub struct LengthGroup {
    /// The number of items in each array.
    pub length: u64,
    /// The number of documents.
    pub documents: u64,
    /// The size of these documents in bytes.
    pub bytes: u64,
}

/// The groups in order of length, with sums.
#[derive(Debug)]
pub(super) struct Lengths {
    groups: Vec<LengthGroup>,
    /// For each group: the documents, the items and the bytes of it and of all longer ones.
    from: Vec<[u64; 3]>,
}

impl Lengths {
    /// Joins groups of the same length.
    pub(super) fn new(groups: impl IntoIterator<Item = LengthGroup>) -> Self {
        let mut all: Vec<_> = groups.into_iter().collect();
        all.retain(|group| group.documents > 0);
        all.sort_unstable_by_key(|group| group.length);
        let mut groups: Vec<LengthGroup> = Vec::with_capacity(all.len());
        for group in all {
            match groups.last_mut() {
                Some(last) if last.length == group.length => {
                    last.documents += group.documents;
                    last.bytes += group.bytes;
                }
                _ => groups.push(group),
            }
        }
        let mut sums = [0; 3];
        let from = groups.iter().rev().map(|group| {
            sums[0] += group.documents;
            sums[1] += group.documents * group.length;
            sums[2] += group.bytes;
            sums
        });
        let mut from: Vec<_> = from.collect();
        from.reverse();
        Self { groups, from }
    }

    pub(super) fn groups(&self) -> &[LengthGroup] {
        &self.groups
    }

    pub(super) fn distinct(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().map(|group| group.length)
    }

    pub(super) fn documents(&self) -> u64 {
        self.from.first().map_or(0, |all| all[0])
    }

    pub(super) fn items(&self) -> u64 {
        self.from.first().map_or(0, |all| all[1])
    }

    pub(super) fn bytes(&self) -> u64 {
        self.from.first().map_or(0, |all| all[2])
    }

    pub(super) fn longest(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.length)
    }

    /// The number of documents with a longer array.
    pub(super) fn above(&self, length: u64) -> u64 {
        self.sums_above(length)[0]
    }

    /// The size of the documents with a longer array.
    pub(super) fn bytes_above(&self, length: u64) -> u64 {
        self.sums_above(length)[2]
    }

    /// The number of items that exceed this length.
    pub(super) fn items_beyond(&self, length: u64) -> u64 {
        let [documents, items, _] = self.sums_above(length);
        items - documents * length
    }

    /// The length that `percent` of the arrays do not exceed.
    pub(super) fn quantile(&self, percent: f64) -> u64 {
        let rank = (self.documents() as f64 * percent / 100.0).ceil() as u64;
        let above = self.documents().saturating_sub(rank);
        // The first group with no more documents above it.
        let found = (0..self.groups.len()).find(|at| self.sums_from(at + 1)[0] <= above);
        found.map_or(0, |at| self.groups[at].length)
    }

    /// The average size of the documents with the median length.
    pub(super) fn typical_bytes(&self) -> u64 {
        let median = self.quantile(50.0);
        let group = self.groups.iter().find(|group| group.length == median);
        group.map_or(0, |group| group.bytes / group.documents)
    }

    /// The greatest average size of the documents with one length.
    pub(super) fn largest_bytes(&self) -> u64 {
        let sizes = self
            .groups
            .iter()
            .map(|group| group.bytes / group.documents);
        sizes.max().unwrap_or(0)
    }

    /// The length from which on documents hold half of all items; `None` without documents.
    pub(super) fn half_of_items(&self) -> Option<u64> {
        let all = self.items();
        let at = (0..self.groups.len()).rfind(|at| self.from[*at][1] * 2 >= all)?;
        Some(self.groups[at].length)
    }

    fn sums_above(&self, length: u64) -> [u64; 3] {
        self.sums_from(self.groups.partition_point(|group| group.length <= length))
    }

    fn sums_from(&self, at: usize) -> [u64; 3] {
        self.from.get(at).copied().unwrap_or_default()
    }
}

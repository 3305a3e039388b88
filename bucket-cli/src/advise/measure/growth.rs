//! When the largest document reaches the limit.

/// A document takes at most so many bytes.
pub(in crate::advise) const DOCUMENT: u64 = 16 << 20;

/// A younger document, or one with fewer bytes, does not tell how it grows.
const LEAST: (i64, u64) = (86_400_000, 1 << 20);

/// How the largest document grew.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::advise) struct Growth {
    pub(in crate::advise) bytes: u64,
    /// The document's first moment, and the present one, in milliseconds.
    pub(in crate::advise) begin: i64,
    pub(in crate::advise) now: i64,
}

impl Growth {
    /// The growth of a document, if it is old and large enough to tell.
    pub(in crate::advise) fn of(bytes: u64, begin: i64, now: i64) -> Option<Self> {
        (now - begin >= LEAST.0 && bytes >= LEAST.1).then_some(Self { bytes, begin, now })
    }

    pub(in crate::advise) fn age_millis(&self) -> i64 {
        self.now - self.begin
    }

    /// The time until the document reaches the limit, if it goes on as it did.
    pub(in crate::advise) fn left_millis(&self) -> i64 {
        let left = DOCUMENT.saturating_sub(self.bytes) as f64 / self.bytes as f64;
        (left * self.age_millis() as f64) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENT, Growth};

    const DAY: i64 = 86_400_000;

    #[test]
    fn a_document_grows_on_at_the_pace_of_its_life() {
        let growth = Growth::of(DOCUMENT / 4, DAY, 11 * DAY).map(|growth| growth.left_millis());
        assert_eq!(growth, Some(30 * DAY));
        assert_eq!(Growth::of(DOCUMENT / 4, 0, DAY - 1), None);
        assert_eq!(Growth::of(1000, 0, DAY), None);
    }
}

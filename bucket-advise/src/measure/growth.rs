//! When large documents reach the limit.

/// The maximum bytes of a document.
pub(crate) const DOCUMENT: u64 = 16 << 20;

/// The bytes from which a document is worth the question how it grew.
pub(crate) const GROWN: u64 = 1 << 20;

/// A day in milliseconds. A younger document does not tell how it grows.
const DAY: i64 = 86_400_000;

/// A large document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LargeDocument {
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    /// How it grew, if its age is known.
    pub(crate) growth: Option<Growth>,
    /// The document's `_id` as text, if the report may show it.
    pub(crate) id: Option<String>,
}

/// How a document grew.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Growth {
    pub(crate) bytes: u64,
    /// The document's first moment, and the present one, in milliseconds.
    pub(crate) begin: i64,
    pub(crate) now: i64,
}

impl Growth {
    /// The growth of a document, if it is old and large enough to tell.
    pub(crate) fn of(bytes: u64, begin: i64, now: i64) -> Option<Self> {
        (now.saturating_sub(begin) >= DAY && bytes > 0).then_some(Self { bytes, begin, now })
    }

    pub(crate) fn age_millis(&self) -> i64 {
        self.now - self.begin
    }

    /// The bytes that a day has brought on average.
    pub(crate) fn bytes_per_day(&self) -> u64 {
        (self.bytes as f64 * DAY as f64 / self.age_millis() as f64) as u64
    }

    /// The time until the document reaches the limit, if it goes on as it did.
    pub(crate) fn left_millis(&self) -> i64 {
        let left = DOCUMENT.saturating_sub(self.bytes) as f64 / self.bytes as f64;
        (left * self.age_millis() as f64) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::{DAY, DOCUMENT, Growth};

    #[test]
    fn a_document_grows_on_at_the_pace_of_its_life() {
        let growth = Growth::of(DOCUMENT / 4, DAY, 11 * DAY);
        let pace = growth.map(|growth| (growth.left_millis(), growth.bytes_per_day()));
        assert_eq!(pace, Some((30 * DAY, DOCUMENT / 40)));
        for (bytes, begin) in [(DOCUMENT, 1), (DOCUMENT, i64::MAX), (0, 0)] {
            assert_eq!(Growth::of(bytes, begin, DAY), None);
        }
    }
}

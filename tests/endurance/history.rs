//! The answers that callers saw: each item that they sent, and the answer.

/// The fate of an item, as its caller was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The call succeeded.
    Acknowledged,
    /// The call failed, and the error said that the item is not stored.
    Refused,
    /// The call failed, and the error said that the item may be stored; or the call was dropped.
    InDoubt,
}

/// An item that a caller sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    /// The sender, who waits for each answer before the next call.
    pub(crate) writer: usize,
    pub(crate) key: i64,
    /// No two items have the same number.
    pub(crate) n: i64,
    pub(crate) answer: Answer,
}

/// All calls; those of each writer are in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) calls: Vec<Call>,
}

impl History {
    pub(crate) fn count(&self, answer: Answer) -> usize {
        let given = self.calls.iter().filter(|call| call.answer == answer);
        given.count()
    }
}

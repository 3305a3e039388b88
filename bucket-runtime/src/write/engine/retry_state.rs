//! The state of the tries to send a batch.

use std::ops::Range;

use crate::{Error, server::current_index::IndexDeadline};

/// The state of the tries to send a batch; only the engine changes it.
#[derive(Debug, Default)]
pub(super) struct RetryState {
    /// How many tries failed since the batch last made progress.
    pub(super) tries: u32,
    /// Whether some of the first entries may be present already, so that the engine has to look them up.
    pub(super) may_be_present: bool,
    /// The refusal of the last command, if its index was missing.
    pub(super) missing_index: Option<Error>,
    pub(super) index_deadline: IndexDeadline,
    /// The entries that the last error concerns: refused or in doubt. The others were not sent.
    pub(super) failed_entries: Range<usize>,
}

impl RetryState {
    /// Begins to count anew, since items were stored.
    pub(super) fn note_progress(&mut self) {
        self.tries = 0;
        self.index_deadline = IndexDeadline::default();
    }
}

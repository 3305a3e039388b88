//! The state of the tries to send a batch.

use std::{ops::Range, time::Duration};

use crate::{Error, server::current_index::IndexDeadline};

/// The state of the tries to send a batch; only the engine changes it.
#[derive(Debug, Default)]
pub(super) struct RetryState {
    /// Whether the handle's memory of the key was asked.
    pub(super) has_recalled: bool,
    /// Whether the last command was sent in a session.
    pub(super) is_in_session: bool,
    /// How many tries failed since the batch last made progress.
    pub(super) tries: u32,
    /// How long the last command took.
    pub(super) last_trip: Duration,
    /// Whether some of the first entries may be present already, so that the engine has to look them up.
    pub(super) may_be_present: bool,
    pub(super) ring_doubt: RingDoubt,
    /// The refusal of the last command, if its index was missing.
    pub(super) missing_index: Option<Error>,
    pub(super) index_deadline: IndexDeadline,
    /// The entries that the last error concerns: refused or in doubt. The others were not sent.
    pub(super) failed_entries: Range<usize>,
}

/// Why the key's last bucket does not show which bucket is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RingDoubt {
    #[default]
    None,
    /// The known slot is taken: by an open bucket, or by a ring.
    SlotTaken,
    /// The known slot is not the free one.
    OtherSlot,
}

impl RetryState {
    /// Begins to count anew, since items were stored.
    pub(super) fn note_progress(&mut self) {
        self.tries = 0;
        self.index_deadline = IndexDeadline::default();
        self.ring_doubt = RingDoubt::None;
    }
}

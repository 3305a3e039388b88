//! The state of the tries to send a batch.

use std::{ops::Range, time::Duration};

/// The state of the tries to send a batch; only the engine changes it.
#[derive(Debug, Default)]
pub(super) struct RetryState {
    /// Whether the handle's memory of the key was asked.
    pub(super) has_recalled: bool,
    /// Whether the newest bucket is known by a statement of this handle, and was not only read.
    pub(super) is_own: bool,
    /// How many tries failed since the batch last made progress.
    pub(super) tries: u32,
    /// How long the last command took.
    pub(super) last_trip: Duration,
    /// Whether some of the first entries may be present already, so that the engine has to look
    /// them up.
    pub(super) may_be_present: bool,
    /// Whether another open bucket has refused the items, and was not looked for since.
    pub(super) has_lost: bool,
    /// The entries that the last error concerns: refused or in doubt. The others were not sent.
    pub(super) failed_entries: Range<usize>,
}

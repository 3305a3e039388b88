//! Combining: appends that wait at the same time in one handle share commands.
//!
//! While a command for a key is in flight, further appends to that key wait, and the next command
//! carries all of them. Keys with one append each share a command. No append waits without need: while
//! fewer than [`EAGER_WORKERS`] commands are in flight, it is sent at once. More commands are sent only
//! while several keys are ready: they would cost the server more than the wait costs the callers.
//!
//! The commands belong to their own tasks and not to a caller's future, so a dropped caller does not
//! affect the others.

mod flush;
mod queue;

pub(crate) use self::queue::Combiner;

/// How many commands of one handle may be in flight, no matter how little waits.
const EAGER_WORKERS: usize = 4;

/// How many may be in flight if for each further one at least [`KEYS_PER_FURTHER_WORKER`] keys are ready. The
/// driver's pool has ten connections by default, so some are left for other calls.
const MAX_WORKERS: usize = 8;

/// How many keys must be ready for a further command.
const KEYS_PER_FURTHER_WORKER: usize = 4;

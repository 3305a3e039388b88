//! Code that blocks, within a test.

use std::{panic::resume_unwind, thread};

use tokio::task::block_in_place;

/// Runs blocking calls outside of the test's runtime, which goes on meanwhile if it has several threads
/// (`multi_thread`).
pub(crate) fn blocking(calls: impl FnOnce() + Send) {
    let done = block_in_place(|| thread::scope(|scope| scope.spawn(calls).join()));
    done.unwrap_or_else(|panic| resume_unwind(panic));
}

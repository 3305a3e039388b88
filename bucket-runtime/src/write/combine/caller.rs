//! The calls that wait for their items to be sent by a task of the handle.

use std::sync::Arc;

use bucket_core::server::call::Calls;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::{Result, write::appended::Appended};

/// How many bytes of items wait in one handle at most; further calls wait before they enter a
/// queue.
const WAITING_BYTES: usize = 64 << 20;

/// The unit, in bytes, in which that memory is counted.
const BYTES_PER_PERMIT: usize = 64;

/// The memory for the waiting items of one handle and its clones.
#[derive(Debug, Clone)]
pub(super) struct WaitingRoom(Arc<Semaphore>);

/// The call that waits for an item.
#[derive(Debug)]
pub(crate) struct Caller {
    answer: oneshot::Sender<Result<Appended>>,
    _room: Option<OwnedSemaphorePermit>,
    /// The span of the call, for which the command counts.
    calls: Calls,
}

/// The answer that a call waits for.
pub(super) type Answered = oneshot::Receiver<Result<Appended>>;

impl Default for WaitingRoom {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(WAITING_BYTES / BYTES_PER_PERMIT)))
    }
}

impl WaitingRoom {
    /// Lets the current call enter a queue with an item of this size.
    pub(super) async fn enter(&self, bytes: usize) -> (Caller, Answered) {
        let permits = (bytes.min(WAITING_BYTES) / BYTES_PER_PERMIT).max(1);
        let permits = u32::try_from(permits).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let room = Arc::clone(&self.0).acquire_many_owned(permits).await;
        let (answer, answered) = oneshot::channel();
        let caller = Caller {
            answer,
            _room: room.ok(),
            calls: Calls::current(),
        };
        (caller, answered)
    }
}

impl Caller {
    pub(crate) fn answer(self, result: Result<Appended>) {
        self.calls.are_answered();
        // The caller may have been dropped.
        let _ = self.answer.send(result);
    }

    /// Whether the call was not dropped.
    pub(super) fn is_waiting(&self) -> bool {
        !self.answer.is_closed()
    }
}

/// The calls of these callers.
pub(crate) fn calls_of<'c>(callers: impl IntoIterator<Item = &'c Caller>) -> Calls {
    Calls::of_all(callers.into_iter().map(|caller| &caller.calls))
}

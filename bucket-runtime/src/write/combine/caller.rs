//! The calls that wait for their items to be sent by a task of the handle.

use std::sync::Arc;

use bucket_core::{
    error::Kind,
    server::{call::Calls, target::Target},
};
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

/// Waits for the answer; an error if the tokio runtime that was sending the command has ended.
pub(super) async fn answer_of(answered: Answered, target: Target<'_>) -> Result<Appended> {
    match answered.await {
        Ok(result) => result,
        Err(_) => Err(target.error(Kind::Stopped).in_doubt()),
    }
}

/// How often a task yields before a key's next command, so that the callers just answered can
/// append again. With 32 busy writers of one key, a command then carries 31 items on average; with
/// one yield 26, without any 17.
const YIELDS: usize = 4;

/// Lets the callers just answered call again, so that the next command carries their items. A
/// single writer would only lose time.
pub(super) async fn let_callers_run() {
    for _ in 0..YIELDS {
        tokio::task::yield_now().await;
    }
}

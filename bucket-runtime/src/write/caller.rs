//! Who waits for the result of an item: often a call whose item a task of the handle sends.

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
pub(crate) struct WaitingRoom(Arc<Semaphore>);

/// Who waits for the result of an item.
#[derive(Debug)]
pub(crate) struct Owner {
    /// The place of the item among those of its call.
    pub(crate) at: usize,
    /// The call, if it waits for this item alone.
    pub(crate) caller: Option<Caller>,
}

/// The call that waits for an item.
#[derive(Debug)]
pub(crate) struct Caller {
    answer: oneshot::Sender<Result<Appended>>,
    _room: Option<OwnedSemaphorePermit>,
    /// The span of the call, for which the command counts.
    calls: Calls,
}

/// The answer that a call waits for.
pub(crate) type Answered = oneshot::Receiver<Result<Appended>>;

impl Default for WaitingRoom {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(WAITING_BYTES / BYTES_PER_PERMIT)))
    }
}

impl WaitingRoom {
    /// Lets the current call enter a queue with an item of this size.
    pub(crate) async fn enter(&self, bytes: usize) -> (Owner, Answered) {
        let permits = (bytes.min(WAITING_BYTES) / BYTES_PER_PERMIT).max(1);
        let permits = u32::try_from(permits).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let room = Arc::clone(&self.0).acquire_many_owned(permits).await;
        let (answer, answered) = oneshot::channel();
        let caller = Some(Caller {
            answer,
            _room: room.ok(),
            calls: Calls::current(),
        });
        (Owner { at: 0, caller }, answered)
    }
}

impl Owner {
    /// Answers the call, if it waits for this item alone.
    pub(crate) fn answer(self, result: Result<Appended>) {
        if let Some(caller) = self.caller {
            caller.calls.are_answered();
            // The caller may have been dropped.
            let _ = caller.answer.send(result);
        }
    }

    /// Whether the call was dropped.
    pub(crate) fn is_gone(&self) -> bool {
        (self.caller.as_ref()).is_some_and(|caller| caller.answer.is_closed())
    }
}

/// The calls that wait for these items alone.
pub(crate) fn calls_of<'o>(owners: impl IntoIterator<Item = &'o Owner>) -> Calls {
    let callers = owners.into_iter().filter_map(|owner| owner.caller.as_ref());
    Calls::of_all(callers.map(|caller| &caller.calls))
}

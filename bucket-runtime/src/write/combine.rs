//! Combining: appends that wait at the same time in one handle share commands.
//!
//! While a command for a key is in flight, further appends to that key wait, and the next command
//! carries all of them. Keys with one append each share a command. No append waits without need: while
//! fewer than [`WORKERS`] commands are in flight, it is sent at once. More commands are sent only while
//! several keys are ready: they would cost the server more than the wait costs the callers.
//!
//! The commands belong to their own tasks and not to a caller's future, so a dropped caller does not
//! affect the others.

mod flush;
mod queue;

use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

use self::queue::{Queue, Waiting};
use crate::{
    Result,
    error::Kind,
    protocol::command::KeyScope,
    server::call::Calls,
    value::element::value_size,
    write::{appended::Appended, engine::Engine, item::Entry},
};

/// How many commands of one handle may be in flight, no matter how little waits.
const WORKERS: usize = 4;

/// How many may be in flight if for each further one at least [`SHARED`] keys are ready. The driver's pool
/// has ten connections by default, so some are left for other calls.
const MOST_WORKERS: usize = 8;

/// How many keys must be ready for a further command.
const SHARED: usize = 4;

/// How many bytes of items wait in one handle at most; further appends wait before they enter the queue.
const WAITING_BYTES: usize = 64 << 20;

/// The unit, in bytes, in which that memory is counted.
const UNIT: usize = 64;

/// The waiting appends of one handle and its clones.
#[derive(Debug, Clone)]
pub(crate) struct Combiner {
    engine: Engine,
    queue: Arc<Queue>,
    room: Arc<Semaphore>,
}

impl Combiner {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine,
            queue: Arc::default(),
            room: Arc::new(Semaphore::new(WAITING_BYTES / UNIT)),
        }
    }

    /// Appends one item, together with other waiting ones.
    pub(crate) async fn append(&self, scope: KeyScope, entry: Entry) -> Result<Appended> {
        let bytes = value_size(&entry.element);
        let units = (bytes.min(WAITING_BYTES) / UNIT).max(1);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let room = Arc::clone(&self.room).acquire_many_owned(units).await.ok();
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting {
            entry,
            bytes,
            answer,
            room,
            calls: Calls::current(),
        };
        if let Some(worker) = self.queue.push(&scope, waiting) {
            // In a box, since tokio would move the 13 kB of this future several times.
            tokio::spawn(Box::pin(flush::work(self.engine.clone(), worker)));
        }
        answered.await.unwrap_or_else(|_| {
            // The tokio runtime that was sending the command has ended.
            let stopped = self.engine.target_of(&scope).error(Kind::Stopped);
            Err(stopped.in_doubt())
        })
    }
}

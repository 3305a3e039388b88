//! The waiting appends, and the keys with a command in flight.

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{MOST_WORKERS, SHARED, WORKERS};
use crate::{
    Result,
    protocol::command::KeyScope,
    server::call::Calls,
    write::{
        appended::Appended,
        engine::{COMMAND_BYTES, NewestBucket},
        item::Entry,
    },
};

/// How many keys share a command at most.
const KEYS: usize = 1000;

/// How many items of one key are taken at once.
const ITEMS: usize = 10_000;

/// A waiting append.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) entry: Entry,
    pub(super) bytes: usize,
    pub(super) answer: oneshot::Sender<Result<Appended>>,
    pub(super) room: Option<OwnedSemaphorePermit>,
    /// The call that waits, for which the command counts.
    pub(super) calls: Calls,
}

#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<QueueState>);

#[derive(Debug, Default)]
struct QueueState {
    /// The keys with a waiting append or a command in flight, by the prefix of their ids.
    key_queues: HashMap<String, KeyQueue>,
    /// The keys with a waiting append and no command in flight, in order of arrival.
    ready: VecDeque<String>,
    workers: usize,
}

#[derive(Debug)]
struct KeyQueue {
    scope: KeyScope,
    waiting: VecDeque<Waiting>,
    /// The newest bucket as the last command has found it.
    newest_bucket: NewestBucket,
}

impl Queue {
    /// Adds an append to the queue of its key. If this returns a worker, the caller has to start it.
    pub(super) fn push(self: &Arc<Self>, scope: &KeyScope, waiting: Waiting) -> Option<Worker> {
        let mut state = self.state();
        if let Some(key_queue) = state.key_queues.get_mut(&scope.prefix) {
            key_queue.waiting.push_back(waiting);
        } else {
            let prefix = scope.prefix.clone();
            let key_queue = KeyQueue {
                scope: scope.clone(),
                waiting: VecDeque::from([waiting]),
                newest_bucket: NewestBucket::Unknown,
            };
            state.key_queues.insert(prefix.clone(), key_queue);
            state.ready.push_back(prefix);
        }
        drop(state);
        self.worker()
    }

    /// A worker, if what waits is worth one more.
    pub(super) fn worker(self: &Arc<Self>) -> Option<Worker> {
        let mut state = self.state();
        if !state.is_worth(state.workers + 1) {
            return None;
        }
        state.workers += 1;
        Some(Worker {
            queue: Arc::clone(self),
            at_work: true,
        })
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// Whether this many workers would have enough to send.
    fn is_worth(&self, workers: usize) -> bool {
        let least = if workers <= WORKERS { 1 } else { SHARED };
        workers <= MOST_WORKERS && self.ready.len() >= least
    }
}

/// The right to send commands, one after the other; at most `MOST_WORKERS` exist.
#[derive(Debug)]
pub(super) struct Worker {
    queue: Arc<Queue>,
    at_work: bool,
}

impl Worker {
    /// Takes the next command: one key with several waiting appends, or several keys with one each. If
    /// nothing waits the result is empty, and the worker has ended.
    pub(super) fn take(&mut self) -> Vec<InFlight> {
        let mut state = self.queue.state();
        let mut taken = Vec::new();
        let mut passed = VecDeque::new();
        let mut bytes = 0;
        let is_needed = state.is_worth(state.workers);
        while is_needed && taken.len() < KEYS {
            let Some(prefix) = state.ready.pop_front() else {
                break;
            };
            let waiting = state
                .key_queues
                .get(&prefix)
                .map(|key_queue| &key_queue.waiting);
            let several = waiting.is_some_and(|waiting| waiting.len() > 1);
            if several && !(taken.is_empty() && passed.is_empty()) {
                passed.push_back(prefix);
                continue;
            }
            let next = waiting.and_then(VecDeque::front);
            bytes += next.map_or(0, |waiting| waiting.bytes);
            if bytes > COMMAND_BYTES && !taken.is_empty() {
                state.ready.push_front(prefix);
                break;
            }
            taken.extend(InFlight::of(&self.queue, &mut state, &prefix));
            if several {
                break;
            }
        }
        passed.append(&mut state.ready);
        state.ready = passed;
        if taken.is_empty() {
            // Under the same lock, so that a later push sees that a worker is missing.
            state.workers -= 1;
            self.at_work = false;
        }
        taken
    }
}

/// Gives a worker's place back if its task was ended in the middle.
impl Drop for Worker {
    fn drop(&mut self) {
        if self.at_work {
            self.queue.state().workers -= 1;
        }
    }
}

/// A key with a command in flight. Dropping it lets the next one be sent.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) queue: Arc<Queue>,
    pub(super) scope: KeyScope,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) newest_bucket: NewestBucket,
}

impl InFlight {
    /// Takes the waiting appends of a key, except those whose callers were dropped.
    fn of(queue: &Arc<Queue>, state: &mut QueueState, prefix: &str) -> Option<Self> {
        let key_queue = state.key_queues.get_mut(prefix)?;
        let rest = key_queue
            .waiting
            .split_off(key_queue.waiting.len().min(ITEMS));
        let mut waiting = mem::replace(&mut key_queue.waiting, rest);
        waiting.retain(|waiting| !waiting.answer.is_closed());
        Some(Self {
            queue: Arc::clone(queue),
            scope: key_queue.scope.clone(),
            waiting,
            newest_bucket: mem::replace(&mut key_queue.newest_bucket, NewestBucket::Unknown),
        })
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        let QueueState {
            key_queues, ready, ..
        } = &mut *state;
        let Some(key_queue) = key_queues.get_mut(&self.scope.prefix) else {
            return;
        };
        if key_queue.waiting.is_empty() {
            key_queues.remove(&self.scope.prefix);
        } else {
            key_queue.newest_bucket = mem::replace(&mut self.newest_bucket, NewestBucket::Unknown);
            ready.push_back(self.scope.prefix.clone());
        }
    }
}

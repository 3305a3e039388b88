//! The waiting appends, and the keys with a command in flight.

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    EAGER_WORKERS, KEYS_PER_FURTHER_WORKER, MAX_WORKERS,
    caller::{Caller, WaitingRoom, answer_of},
    flush,
};
use crate::{
    Result,
    protocol::command::KeyScope,
    write::{
        appended::Appended,
        engine::{Batch, COMMAND_BYTES, Engine, NewestBucket},
        item::Entry,
    },
};

/// How many keys share a command at most.
const KEYS_PER_COMMAND: usize = 1000;

/// How many items of one key are taken at once.
const ITEMS_PER_KEY: usize = 10_000;

/// The waiting appends of one handle and its clones.
#[derive(Debug, Clone)]
pub(crate) struct Combiner {
    engine: Engine,
    queue: Arc<Queue>,
    room: WaitingRoom,
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
    waiting: VecDeque<(Caller, Entry)>,
    /// The newest bucket as the last command has found it.
    newest_bucket: NewestBucket,
}

impl Combiner {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine,
            queue: Arc::default(),
            room: WaitingRoom::default(),
        }
    }

    /// Appends one item, together with other waiting ones.
    pub(crate) async fn append(&self, scope: KeyScope, entry: Entry) -> Result<Appended> {
        let (caller, answered) = self.room.enter(entry.size).await;
        self.queue.push(&scope, caller, entry);
        if let Some(worker) = Worker::new(&self.queue) {
            // In a box, since tokio would move the 13 kB of this future several times.
            tokio::spawn(Box::pin(flush::work(self.engine.clone(), worker)));
        }
        answer_of(answered, self.engine.target_of(&scope)).await
    }
}

impl Queue {
    /// Adds an append to the queue of its key.
    fn push(&self, scope: &KeyScope, caller: Caller, entry: Entry) {
        let mut state = self.lock();
        if let Some(key_queue) = state.key_queues.get_mut(&scope.prefix) {
            key_queue.waiting.push_back((caller, entry));
            return;
        }
        let key_queue = KeyQueue {
            scope: scope.clone(),
            waiting: VecDeque::from([(caller, entry)]),
            newest_bucket: NewestBucket::Unknown,
        };
        (state.key_queues).insert(scope.prefix.clone(), key_queue);
        state.ready.push_back(scope.prefix.clone());
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// How many appends of a key wait, and the bytes of the first one.
    fn waiting(&self, prefix: &str) -> (usize, usize) {
        let Some(KeyQueue { waiting, .. }) = self.key_queues.get(prefix) else {
            return (0, 0);
        };
        let first = waiting.front();
        (waiting.len(), first.map_or(0, |(_, entry)| entry.size))
    }

    /// Takes the waiting appends of a key, except those whose callers were dropped.
    fn take_batch(&mut self, prefix: &str, engine: &Engine) -> Option<Batch<Caller>> {
        let key_queue = self.key_queues.get_mut(prefix)?;
        let first = key_queue.waiting.len().min(ITEMS_PER_KEY);
        let rest = key_queue.waiting.split_off(first);
        let taken = mem::replace(&mut key_queue.waiting, rest);
        let taken = taken.into_iter();
        let taken = taken.filter(|(caller, _)| caller.is_waiting());
        let scope = key_queue.scope.clone().by(engine.index.get());
        let mut batch = Batch::with_owners(scope, taken);
        batch.is_unordered = true;
        batch.newest_bucket = mem::replace(&mut key_queue.newest_bucket, NewestBucket::Unknown);
        engine.recall(&mut batch, false);
        Some(batch)
    }

    /// Whether this many workers would have enough to send.
    fn is_worth(&self, workers: usize) -> bool {
        let least = match workers <= EAGER_WORKERS {
            true => 1,
            false => KEYS_PER_FURTHER_WORKER,
        };
        workers <= MAX_WORKERS && self.ready.len() >= least
    }
}

/// The right to send commands, one after the other; at most `MAX_WORKERS` exist.
#[derive(Debug)]
pub(super) struct Worker {
    queue: Arc<Queue>,
    is_at_work: bool,
}

/// A key with a command in flight. Dropping it lets the next one be sent.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) queue: Arc<Queue>,
    pub(super) batch: Batch<Caller>,
}

impl Worker {
    /// A further worker, if what waits is worth one.
    pub(super) fn new(queue: &Arc<Queue>) -> Option<Self> {
        let mut state = queue.lock();
        if !state.is_worth(state.workers + 1) {
            return None;
        }
        state.workers += 1;
        drop(state);
        Some(Self {
            queue: Arc::clone(queue),
            is_at_work: true,
        })
    }

    /// Takes what the next command carries: one key with several waiting appends, or several keys with one
    /// each. If nothing waits the result is empty, and the worker has ended.
    pub(super) fn take_next(&mut self, engine: &Engine) -> Vec<InFlight> {
        let mut state = self.queue.lock();
        let mut taken = Vec::new();
        let mut passed = VecDeque::new();
        let mut bytes = 0;
        let is_needed = state.is_worth(state.workers);
        while is_needed && taken.len() < KEYS_PER_COMMAND {
            let Some(prefix) = state.ready.pop_front() else {
                break;
            };
            let (waiting, first_bytes) = state.waiting(&prefix);
            if waiting > 1 && !(taken.is_empty() && passed.is_empty()) {
                passed.push_back(prefix);
                continue;
            }
            bytes += first_bytes;
            if bytes > COMMAND_BYTES && !taken.is_empty() {
                state.ready.push_front(prefix);
                break;
            }
            taken.extend(state.take_batch(&prefix, engine).map(|batch| InFlight {
                queue: Arc::clone(&self.queue),
                batch,
            }));
            if waiting > 1 {
                break;
            }
        }
        passed.append(&mut state.ready);
        state.ready = passed;
        if taken.is_empty() {
            // Under the same lock, so that a later push sees that a worker is missing.
            state.workers -= 1;
            self.is_at_work = false;
        }
        taken
    }
}

/// Gives a worker's place back if its task was ended in the middle.
impl Drop for Worker {
    fn drop(&mut self) {
        if self.is_at_work {
            self.queue.lock().workers -= 1;
        }
    }
}

impl Drop for InFlight {
    /// The key's next command knows the newest bucket that this one has found.
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        let QueueState {
            key_queues, ready, ..
        } = &mut *state;
        let prefix = &self.batch.scope.prefix;
        let Some(key_queue) = key_queues.get_mut(prefix) else {
            return;
        };
        if key_queue.waiting.is_empty() {
            key_queues.remove(prefix);
        } else {
            let known = &mut self.batch.newest_bucket;
            key_queue.newest_bucket = mem::replace(known, NewestBucket::Unknown);
            ready.push_back(prefix.clone());
        }
    }
}

//! What waits in a handle, key by key, and the keys with a command in flight.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bucket_core::{error::Kind, protocol::command::IndexedScope, server::target::Target};
use futures_util::FutureExt;

use super::{EAGER_WORKERS, KEYS_PER_FURTHER_WORKER, MAX_WORKERS};
use crate::{
    Result,
    write::{
        appended::Appended,
        caller::{Owner, WaitingRoom},
        engine::{Batch, COMMAND_BYTES, NewestBucket},
        item::Entry,
    },
};

/// How many keys share a command at most.
const KEYS_PER_COMMAND: usize = 1000;

/// How many items of one key are taken at once.
const ITEMS_PER_KEY: usize = 10_000;

/// How often a task yields before a key's next command, so that the callers just answered can
/// append again. With 32 busy writers of one key, a command then carries 31 items on average; with
/// one yield 26, without any 17.
const YIELDS: usize = 4;

/// The waiting calls of one handle and its clones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Combiner {
    queue: Arc<Queue>,
    room: WaitingRoom,
}

/// Whoever sends what waits.
pub(crate) trait SendWaiting: Clone + Send + Sync + 'static {
    /// Sends the next statement of each key in one command, or all items of a single key. Returns
    /// the keys whose callers are answered. Keys that need a further command continue in other
    /// tasks ([`Queue::continue_with`]), so that no key waits for another.
    fn send(&self, keys: Vec<InFlight>) -> impl Future<Output = Vec<InFlight>> + Send;
}

#[derive(Debug, Default)]
pub(crate) struct Queue(Mutex<QueueState>);

#[derive(Debug, Default)]
struct QueueState {
    /// The items that wait, of each key that has one or a command in flight, by the prefix of its
    /// ids; with the newest bucket as the last command has found it.
    waiting: HashMap<String, Batch>,
    /// The keys with a waiting item and no command in flight, in order of arrival.
    ready: VecDeque<String>,
    workers: usize,
}

/// A key with a command in flight. Dropping it lets the next one be sent, which knows of the key
/// what this one has found.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) queue: Arc<Queue>,
    pub(crate) batch: Batch,
}

/// The right to send commands, one after the other; at most `MAX_WORKERS` exist.
#[derive(Debug)]
struct Worker {
    queue: Arc<Queue>,
    is_at_work: bool,
}

impl Combiner {
    /// Lets the current call's item wait until a command carries it, together with other waiting
    /// ones.
    pub(crate) async fn send_with_others(
        &self,
        sender: &impl SendWaiting,
        target: Target<'_>,
        scope: &IndexedScope,
        entry: Entry,
    ) -> Result<Appended> {
        let (owner, answered) = self.room.enter(entry.size).await;
        self.queue.push(scope, owner, entry);
        if let Some(worker) = Worker::new(&self.queue) {
            // In a box, since tokio would move the 13 kB of this future several times; of any type,
            // so that the compiler makes one task of all.
            tokio::spawn(worker.work(sender.clone()).boxed());
        }
        match answered.await {
            Ok(result) => result,
            // The tokio runtime that was sending the command has ended.
            Err(_) => Err(target.error(Kind::Stopped).in_doubt()),
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item to the queue of its key.
    fn push(&self, scope: &IndexedScope, owner: Owner, entry: Entry) {
        let (mut state, prefix) = (self.lock(), &scope.prefix);
        if let Some(waiting) = state.waiting.get_mut(prefix) {
            waiting.entries.push_back((owner, entry));
            return;
        }
        let waiting = Batch::with_owners(scope.clone(), [(owner, entry)]);
        state.waiting.insert(prefix.clone(), waiting);
        state.ready.push_back(prefix.clone());
    }

    /// Goes on with keys in a task of its own, and then sends what has become ready meanwhile.
    pub(crate) fn continue_with(
        self: Arc<Self>,
        sender: impl SendWaiting,
        rest: impl Future<Output = ()> + Send + 'static,
    ) {
        let work = async move {
            rest.await;
            if let Some(worker) = Worker::new(&self) {
                worker.work(sender).await;
            }
        };
        tokio::spawn(work.boxed());
    }
}

impl QueueState {
    /// Whether this many workers would have enough to send.
    fn is_worth(&self, workers: usize) -> bool {
        let least = match workers <= EAGER_WORKERS {
            true => 1,
            false => KEYS_PER_FURTHER_WORKER,
        };
        workers <= MAX_WORKERS && self.ready.len() >= least
    }
}

impl Worker {
    /// A further worker, if what waits is worth one.
    fn new(queue: &Arc<Queue>) -> Option<Self> {
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

    /// Sends commands until nothing waits any more.
    async fn work(mut self, sender: impl SendWaiting) {
        loop {
            let keys = self.take_next();
            if keys.is_empty() {
                return;
            }
            let has_several = keys.iter().map(|key| key.batch.len()).sum::<usize>() > 1;
            let done = sender.send(keys).await;
            // Lets the callers just answered call again, so that the next command carries their
            // items. A single writer would only lose time.
            let yields = if has_several { YIELDS } else { 0 };
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            drop(done);
        }
    }

    /// Takes what the next command carries: one key with several waiting items, or several keys
    /// with one each. If nothing waits the result is empty, and the worker has ended.
    fn take_next(&mut self) -> Vec<InFlight> {
        let mut state = self.queue.lock();
        let mut taken = Vec::new();
        let mut passed = VecDeque::new();
        let mut bytes = 0;
        let is_needed = state.is_worth(state.workers);
        while is_needed && taken.len() < KEYS_PER_COMMAND {
            let Some(prefix) = state.ready.pop_front() else {
                break;
            };
            let Some(waiting) = state.waiting.get(&prefix) else {
                continue;
            };
            let first_bytes = waiting.sizes().next().unwrap_or(0);
            let waiting = waiting.len();
            if waiting > 1 && !(taken.is_empty() && passed.is_empty()) {
                passed.push_back(prefix);
                continue;
            }
            bytes += first_bytes;
            if bytes > COMMAND_BYTES && !taken.is_empty() {
                state.ready.push_front(prefix);
                break;
            }
            taken.extend(self.take_items(&mut state, &prefix));
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

    /// Takes the waiting items of a key, except those whose callers were dropped.
    fn take_items(&self, state: &mut QueueState, prefix: &str) -> Option<InFlight> {
        let waiting = state.waiting.get_mut(prefix)?;
        let items = waiting.len().min(ITEMS_PER_KEY);
        let taken = waiting.entries.drain(..items);
        let taken = taken.filter(|(owner, _)| !owner.is_gone());
        let mut batch = Batch::with_owners(waiting.scope.clone(), taken);
        batch.is_unordered = true;
        let known = &mut waiting.newest_bucket;
        batch.go_on_from(mem::replace(known, NewestBucket::Unknown));
        let queue = Arc::clone(&self.queue);
        Some(InFlight { queue, batch })
    }
}

impl InFlight {
    /// Lets these items, the last that were taken, wait for the key's next command.
    pub(super) fn put_back(&self, items: VecDeque<(Owner, Entry)>) {
        let mut state = self.queue.lock();
        if let Some(waiting) = state.waiting.get_mut(&self.batch.scope.prefix) {
            for item in items.into_iter().rev() {
                waiting.entries.push_front(item);
            }
        }
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
    fn drop(&mut self) {
        let state = &mut *self.queue.lock();
        match state.waiting.get_mut(&self.batch.scope.prefix) {
            Some(waiting) if !waiting.is_empty() => {
                waiting.newest_bucket = self.batch.shown_bucket();
                state.ready.push_back(self.batch.scope.prefix.clone());
            }
            _ => drop(state.waiting.remove(&self.batch.scope.prefix)),
        }
    }
}

//! Which appends wait, and for which keys a command is under way.

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::WORKERS;
use crate::{
    Result,
    protocol::command::KeyScope,
    write::{
        appended::Appended,
        engine::{COMMAND_BYTES, Tail},
        item::Entry,
    },
};

/// How many keys share a command at most.
const KEYS: usize = 1000;

/// How many items of one key are taken up at once.
const ITEMS: usize = 10_000;

/// An append that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) entry: Entry,
    pub(super) bytes: usize,
    pub(super) answer: oneshot::Sender<Result<Appended>>,
    pub(super) room: Option<OwnedSemaphorePermit>,
}

#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The keys for which something waits or is under way, by the prefix of their ids.
    lanes: HashMap<String, Lane>,
    /// Those for which something waits and nothing is under way, in the order in which they came.
    ready: VecDeque<String>,
    workers: usize,
}

#[derive(Debug)]
struct Lane {
    scope: KeyScope,
    waiting: VecDeque<Waiting>,
    /// What the last command has taught.
    tail: Tail,
}

impl Queue {
    /// Puts an append behind the others of its key. A worker has to be set to work if this gives
    /// one.
    pub(super) fn push(self: &Arc<Self>, scope: KeyScope, waiting: Waiting) -> Option<Worker> {
        let mut state = self.state();
        if let Some(lane) = state.lanes.get_mut(&scope.prefix) {
            lane.waiting.push_back(waiting);
        } else {
            let prefix = scope.prefix.clone();
            let lane = Lane {
                scope,
                waiting: VecDeque::from([waiting]),
                tail: Tail::Unknown,
            };
            state.lanes.insert(prefix.clone(), lane);
            state.ready.push_back(prefix);
        }
        drop(state);
        self.worker()
    }

    /// A worker, if something can be sent and there are not enough of them.
    pub(super) fn worker(self: &Arc<Self>) -> Option<Worker> {
        let mut state = self.state();
        if state.ready.is_empty() || state.workers >= WORKERS {
            return None;
        }
        state.workers += 1;
        Some(Worker {
            queue: Arc::clone(self),
            at_work: true,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to send commands, one after the other. There are only so many.
#[derive(Debug)]
pub(super) struct Worker {
    queue: Arc<Queue>,
    at_work: bool,
}

impl Worker {
    /// What the next command is about: one key for which several appends wait, or several keys with
    /// one each. Nothing if nothing waits; the worker is then no worker any more.
    pub(super) fn take(&mut self) -> Vec<Taken> {
        let mut state = self.queue.state();
        let mut taken = Vec::new();
        let mut passed = VecDeque::new();
        let mut bytes = 0;
        while taken.len() < KEYS {
            let Some(prefix) = state.ready.pop_front() else {
                break;
            };
            let waiting = state.lanes.get(&prefix).map(|lane| &lane.waiting);
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
            taken.extend(Taken::of(&self.queue, &mut state, &prefix));
            if several {
                break;
            }
        }
        passed.append(&mut state.ready);
        state.ready = passed;
        if taken.is_empty() {
            // Under the same lock: what is pushed from now on finds that a worker is missing.
            state.workers -= 1;
            self.at_work = false;
        }
        taken
    }
}

/// For a worker whose task was ended.
impl Drop for Worker {
    fn drop(&mut self) {
        if self.at_work {
            self.queue.state().workers -= 1;
        }
    }
}

/// A key for which a command is under way. When it is dropped, the next one may be sent.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) queue: Arc<Queue>,
    pub(super) scope: KeyScope,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) tail: Tail,
}

impl Taken {
    /// Takes what waits for a key, without those whose callers are gone.
    fn of(queue: &Arc<Queue>, state: &mut State, prefix: &str) -> Option<Self> {
        let lane = state.lanes.get_mut(prefix)?;
        let rest = lane.waiting.split_off(lane.waiting.len().min(ITEMS));
        let mut waiting = mem::replace(&mut lane.waiting, rest);
        waiting.retain(|waiting| !waiting.answer.is_closed());
        Some(Self {
            queue: Arc::clone(queue),
            scope: lane.scope.clone(),
            waiting,
            tail: mem::replace(&mut lane.tail, Tail::Unknown),
        })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        let State { lanes, ready, .. } = &mut *state;
        let Some(lane) = lanes.get_mut(&self.scope.prefix) else {
            return;
        };
        if lane.waiting.is_empty() {
            lanes.remove(&self.scope.prefix);
        } else {
            lane.tail = mem::replace(&mut self.tail, Tail::Unknown);
            ready.push_back(self.scope.prefix.clone());
        }
    }
}

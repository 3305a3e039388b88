//! Combining: pushes to one parent that wait at the same time in one handle share commands.
//!
//! A task of the handle sends what waits for a parent, and ends when nothing waits any more. Further pushes to
//! that parent wait meanwhile, and its next command carries them. Pushes to different parents do not wait for
//! each other.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mongodb::bson::Bson;

use crate::{
    value::element::{count_within, value_size},
    write::{
        combine::caller::{Caller, WaitingRoom},
        engine::COMMAND_BYTES,
    },
};

/// How many items of one parent are taken at once.
const ITEMS_PER_PARENT: usize = 1000;

/// The waiting pushes of one handle and its clones.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitingPushes {
    /// By the prefix of the extras' ids. A parent for which a task works has a queue, which may be empty.
    queues: Arc<Mutex<HashMap<String, PushQueue>>>,
    pub(super) room: WaitingRoom,
}

type PushQueue = Vec<(Caller, Bson)>;

/// The right to push to one parent. Dropping it refuses what waits: the task that worked for it has ended.
#[derive(Debug)]
pub(super) struct Turn {
    waiting: WaitingPushes,
    prefix: String,
    is_over: bool,
}

impl WaitingPushes {
    /// Adds a push to the queue of its parent; gives a turn if no task works for that.
    pub(super) fn add(&self, prefix: &str, caller: Caller, element: Bson) -> Option<Turn> {
        let mut queues = self.lock();
        if let Some(queue) = queues.get_mut(prefix) {
            queue.push((caller, element));
            return None;
        }
        queues.insert(prefix.to_owned(), vec![(caller, element)]);
        Some(Turn {
            waiting: self.clone(),
            prefix: prefix.to_owned(),
            is_over: false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, PushQueue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Takes what the next command carries, except pushes whose callers were dropped. If nothing waits, the
    /// result is empty, and the next push gets a turn of its own.
    pub(super) fn take(&mut self) -> PushQueue {
        let mut queues = self.waiting.lock();
        let Some(queue) = queues.get_mut(&self.prefix) else {
            return PushQueue::new();
        };
        queue.retain(|(caller, _)| caller.is_waiting());
        if queue.is_empty() {
            // Under the same lock, so that a later push gets a turn.
            queues.remove(&self.prefix);
            self.is_over = true;
            return PushQueue::new();
        }
        let first = queue.iter().take(ITEMS_PER_PARENT);
        let sizes = first.map(|(_, element)| value_size(element));
        let rest = queue.split_off(count_within(COMMAND_BYTES, sizes).max(1));
        mem::replace(queue, rest)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.is_over {
            self.waiting.lock().remove(&self.prefix);
        }
    }
}

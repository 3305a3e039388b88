//! Sends the waiting appends, and gives each caller its own result.

use std::{mem, sync::Arc};

use bucket_core::error::is_impossible_id;

use super::{
    caller::{Caller, calls_of},
    queue::{InFlight, SendWaiting},
};
use crate::{
    Error,
    write::engine::{Batch, Engine, NewestBucket, SendMode},
};

/// The appends of a key that a command carries.
struct KeyAppends {
    batch: Batch<Caller>,
    in_flight: InFlight,
}

impl SendWaiting for Engine {
    async fn send(&self, keys: Vec<InFlight>) -> Vec<InFlight> {
        let keys = keys.into_iter().map(|key| KeyAppends::new(key, self));
        let mut keys: Vec<_> = keys.collect();
        match keys.len() {
            1 => vec![keys.remove(0).send(self).await],
            _ => send_all(self, keys).await,
        }
    }
}

impl KeyAppends {
    fn new(mut in_flight: InFlight, engine: &Engine) -> Self {
        let items = mem::take(&mut in_flight.items);
        let mut batch = Batch::with_owners(in_flight.scope.clone(), items);
        batch.is_unordered = true;
        batch.go_on_from(mem::replace(
            &mut in_flight.newest_bucket,
            NewestBucket::Unknown,
        ));
        engine.recall(&mut batch, false);
        in_flight.put_back(batch.split_off_partial_bucket());
        Self { batch, in_flight }
    }

    /// Sends all of the key's appends, in as many commands as necessary.
    async fn send(mut self, engine: &Engine) -> InFlight {
        let answer = |caller: Caller, result| {
            caller.answer(result);
            true
        };
        let calls = calls_of(self.batch.owners());
        calls
            .carry(engine.append_each(&mut self.batch, answer))
            .await;
        self.end()
    }

    /// Answers all of the key's callers with the error; nothing was stored.
    fn refuse(mut self, error: &Error) -> InFlight {
        for caller in self.batch.take_owners() {
            caller.answer(Err(error.clone()));
        }
        self.end()
    }

    /// The next command of the key knows its newest bucket.
    fn end(mut self) -> InFlight {
        self.in_flight.newest_bucket = self.batch.shown_bucket();
        self.in_flight
    }
}

/// Sends the next statement of each key in one command. Returns the keys that are done.
async fn send_all(engine: &Engine, keys: Vec<KeyAppends>) -> Vec<InFlight> {
    let mut done = Vec::with_capacity(keys.len());
    let (mut sent, mut updates) = (Vec::new(), Vec::new());
    for key in keys {
        match key.batch.statements(SendMode::WithOthers) {
            Ok(statements) => {
                if let Some((update, carried)) = statements.into_iter().next() {
                    updates.push(update);
                    sent.push((key, carried));
                }
            }
            Err(kind) => {
                let error = engine.target_of(&key.batch.scope).error(kind);
                done.push(key.refuse(&error));
            }
        }
    }
    if sent.is_empty() {
        // All callers were dropped.
        return done;
    }
    let calls = calls_of(sent.iter().flat_map(|(key, _)| key.batch.owners()));
    let results = match calls.carry(engine.server.update_all(updates, false)).await {
        Ok(results) => results,
        Err(error) => {
            done.extend(sent.into_iter().map(|(key, _)| {
                let target = engine.target_of(&key.batch.scope);
                let error = target.write_error(error.clone());
                key.refuse(&error)
            }));
            return done;
        }
    };
    bucket_core::reached!("the appends of {} keys in a command", sent.len());
    let mut opening = Vec::new();
    for ((mut key, carried), result) in sent.into_iter().zip(results) {
        let stored = match result {
            Err(error) if is_impossible_id(&error) => Ok(false),
            result => result.map(|()| true),
        };
        match engine.note_outcome(&mut key.batch, carried, stored) {
            Err(error) => done.push(key.refuse(&error)),
            // Nothing is left to send: this call only answers the waiting append.
            Ok(()) if key.batch.is_empty() => done.push(key.send(engine).await),
            Ok(()) if key.batch.needs_last_bucket() => opening.push(key),
            Ok(()) => send_alone(engine, key),
        }
    }
    open_apart(engine, opening);
    done
}

/// Opens a bucket for each key in a task of its own.
fn open_apart(engine: &Engine, keys: Vec<KeyAppends>) {
    if let Some(first) = keys.first() {
        let queue = Arc::clone(&first.in_flight.queue);
        queue.continue_with(engine.clone(), open_all(engine.clone(), keys));
    }
}

/// Sends the rest of a key's appends in a task of its own.
fn send_alone(engine: &Engine, key: KeyAppends) {
    let (queue, engine) = (Arc::clone(&key.in_flight.queue), engine.clone());
    queue.continue_with(engine.clone(), async move {
        drop(key.send(&engine).await);
    });
}

/// Opens a bucket for each key, with the number after its last bucket: one command opens all, and
/// two read the last buckets of a hundred keys. A key that loses a race here goes on by itself.
async fn open_all(engine: Engine, mut keys: Vec<KeyAppends>) {
    let scopes: Vec<_> = keys.iter().map(|key| &key.batch.scope).collect();
    let calls = calls_of(keys.iter().flat_map(|key| key.batch.owners()));
    bucket_core::reached!("{} keys open buckets together", keys.len());
    match calls.carry(engine.server.last_buckets(&scopes)).await {
        Ok(last) => {
            for (key, last) in keys.iter_mut().zip(last) {
                key.batch.note_last_bucket(last);
            }
            drop(send_all(&engine, keys).await);
        }
        // Each key reads its last bucket by itself, and its callers get the error.
        Err(_) => {
            for key in keys {
                send_alone(&engine, key);
            }
        }
    }
}

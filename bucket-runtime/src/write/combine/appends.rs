//! Sends the waiting appends, and gives each caller its own result.

use std::sync::Arc;

use bucket_core::error::is_impossible_id;

use super::queue::{InFlight, SendWaiting};
use crate::{
    Error,
    write::{
        caller::calls_of,
        engine::{Engine, SendMode},
    },
};

impl SendWaiting for Engine {
    async fn send(&self, mut keys: Vec<InFlight>) -> Vec<InFlight> {
        for key in &mut keys {
            self.recall(&mut key.batch, false);
            let partial = key.batch.split_off_partial_bucket();
            key.put_back(partial);
        }
        match keys.len() {
            1 => vec![send_one(self, keys.remove(0)).await],
            _ => send_all(self, keys).await,
        }
    }
}

/// Sends all of the key's appends, in as many commands as necessary.
async fn send_one(engine: &Engine, mut key: InFlight) -> InFlight {
    let calls = calls_of(key.batch.owners());
    let appended = engine.append_each(&mut key.batch, |owner, result| {
        owner.answer(result);
        true
    });
    calls.carry(appended).await;
    key
}

/// Answers all of the key's callers with the error; nothing was stored.
fn refuse(mut key: InFlight, error: &Error) -> InFlight {
    for (owner, _) in key.batch.entries.drain(..) {
        owner.answer(Err(error.clone()));
    }
    key
}

/// Sends the next statement of each key in one command. Returns the keys that are done.
async fn send_all(engine: &Engine, keys: Vec<InFlight>) -> Vec<InFlight> {
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
                done.push(refuse(key, &error));
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
                refuse(key, &error)
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
        match engine.note_outcome(&mut key.batch, carried, stored, SendMode::WithOthers) {
            Err(error) => done.push(refuse(key, &error)),
            // Nothing is left to send: this call only answers the waiting append.
            Ok(()) if key.batch.is_empty() => done.push(send_one(engine, key).await),
            Ok(()) if key.batch.needs_last_bucket() => opening.push(key),
            Ok(()) => send_alone(engine, key),
        }
    }
    open_apart(engine, opening);
    done
}

/// Opens a bucket for each key in a task of its own.
fn open_apart(engine: &Engine, keys: Vec<InFlight>) {
    if let Some(first) = keys.first() {
        let queue = Arc::clone(&first.queue);
        queue.continue_with(engine.clone(), open_all(engine.clone(), keys));
    }
}

/// Sends the rest of a key's appends in a task of its own.
fn send_alone(engine: &Engine, key: InFlight) {
    let (queue, engine) = (Arc::clone(&key.queue), engine.clone());
    queue.continue_with(engine.clone(), async move {
        drop(send_one(&engine, key).await);
    });
}

/// Opens a bucket for each key, with the number after its last bucket: one command opens all, and
/// two read the last buckets of a hundred keys. A key that loses a race here goes on by itself.
async fn open_all(engine: Engine, mut keys: Vec<InFlight>) {
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

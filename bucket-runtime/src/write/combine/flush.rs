//! Sends the waiting appends, and gives each caller its own result.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{
    caller::{Caller, let_callers_run},
    queue::{InFlight, Worker},
};
use crate::{
    Error,
    error::is_impossible_id,
    server::{call::Calls, many::Results},
    write::engine::{Carried, Engine, SendMode},
};

/// Sends commands until nothing waits any more.
pub(super) async fn work(engine: Engine, mut worker: Worker) {
    loop {
        let mut keys = worker.take_next(&engine);
        let has_several = keys.iter().map(|key| key.batch.len()).sum::<usize>() > 1;
        let done = match keys.len() {
            0 => return,
            1 => vec![keys.remove(0).send(&engine).await],
            _ => send_all(&engine, keys).await,
        };
        if has_several {
            let_callers_run().await;
        }
        drop(done);
    }
}

impl InFlight {
    /// Sends all of the key's appends, in as many commands as necessary.
    async fn send(mut self, engine: &Engine) -> Self {
        let answer = |caller: Caller, result| {
            caller.answer(result);
            true
        };
        let calls = calls_of([&self]);
        calls
            .carry(engine.append_each(&mut self.batch, answer))
            .await;
        self
    }

    /// Answers all of the key's callers with the error; nothing was stored.
    fn refuse(mut self, error: &Error) -> Self {
        for caller in self.batch.take_owners() {
            caller.answer(Err(error.clone()));
        }
        self
    }
}

/// Sends the next statement of each key in one command. Keys that need a further one continue in other
/// tasks, so that no key waits for another. Returns the keys that are done.
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
                done.push(key.refuse(&error));
            }
        }
    }
    if sent.is_empty() {
        // All callers were dropped.
        return done;
    }
    let calls = calls_of(sent.iter().map(|(key, _)| key));
    match calls.carry(engine.server.update_all(updates, false)).await {
        Ok(results) => done.extend(note_outcomes(engine, sent, results).await),
        Err(error) => done.extend(sent.into_iter().map(|(key, _)| {
            let target = engine.target_of(&key.batch.scope);
            let error = target.write_error(error.clone());
            key.refuse(&error)
        })),
    }
    done
}

/// Updates each key's batch by the server's answer to its statement. Returns the keys that are done.
async fn note_outcomes(
    engine: &Engine,
    sent: Vec<(InFlight, Carried)>,
    results: Results,
) -> Vec<InFlight> {
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for ((mut key, carried), result) in sent.into_iter().zip(results) {
        let stored = match result {
            Err(error) if is_impossible_id(&error) => Ok(false),
            result => result.map(|()| true),
        };
        let noted = calls_of([&key]).doing(|| engine.note_outcome(&mut key.batch, carried, stored));
        match noted {
            Err(error) => done.push(key.refuse(&error)),
            // Nothing is left to send: this call only answers the waiting append.
            Ok(()) if key.batch.is_empty() => done.push(key.send(engine).await),
            Ok(()) => left.push(key),
        }
    }
    send_alone(engine, left);
    done
}

/// Sends the rest of these keys' appends in tasks of their own.
fn send_alone(engine: &Engine, keys: Vec<InFlight>) {
    let needs_number = |key: &InFlight| key.batch.needs_last_bucket();
    let (opening, others): (Vec<_>, Vec<_>) = keys.into_iter().partition(needs_number);
    if !opening.is_empty() {
        tokio::spawn(open_all(engine.clone(), opening));
    }
    for key in others {
        tokio::spawn(send_rest(engine.clone(), key));
    }
}

/// The calls that wait for the appends of these keys.
fn calls_of<'k>(keys: impl IntoIterator<Item = &'k InFlight>) -> Calls {
    let callers = keys.into_iter().flat_map(|key| key.batch.owners());
    Calls::of_all(callers.map(|caller| &caller.calls))
}

/// Opens a bucket for each key, with the number after its last bucket: one command opens all, and two read
/// the last buckets of a hundred keys. A key that loses a race here goes on by itself.
fn open_all(engine: Engine, mut keys: Vec<InFlight>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let Some(queue) = keys.first().map(|key| Arc::clone(&key.queue)) else {
            return;
        };
        let scopes: Vec<_> = keys.iter().map(|key| &key.batch.scope).collect();
        let calls = calls_of(&keys);
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
                    tokio::spawn(send_rest(engine.clone(), key));
                }
            }
        }
        if let Some(worker) = Worker::new(&queue) {
            work(engine, worker).await;
        }
    })
}

/// Sends the rest of a key's appends, and all that have joined its queue meanwhile.
fn send_rest(engine: Engine, key: InFlight) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let queue = Arc::clone(&key.queue);
        drop(key.send(&engine).await);
        if let Some(worker) = Worker::new(&queue) {
            work(engine, worker).await;
        }
    })
}

//! Sends the waiting appends, and gives each caller its own result.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::queue::{InFlight, Worker};
use crate::{
    Error, Result,
    error::is_impossible_id,
    server::call::Calls,
    write::{
        appended::Appended,
        engine::{Batch, Engine, SendMode},
    },
};

/// How often a worker yields before a key's next command, so that the callers just answered can append
/// again. With 32 busy writers of one key, a command then carries 31 items on average; with one yield
/// 26, without any 17.
const YIELDS: usize = 4;

/// Sends commands until nothing waits any more.
pub(super) async fn work(engine: Engine, mut worker: Worker) {
    loop {
        let mut taken = worker.take();
        let several = taken.iter().map(|taken| taken.waiting.len()).sum::<usize>() > 1;
        let done = match taken.len() {
            0 => return,
            1 => vec![taken.remove(0).into_group(&engine).send(&engine).await],
            _ => {
                let groups = taken.into_iter().map(|taken| taken.into_group(&engine));
                send_all(&engine, groups.collect()).await
            }
        };
        // The callers just answered may append again, and the next command carries those items if the
        // callers run first. A single writer would only lose time.
        if several {
            for _ in 0..YIELDS {
                tokio::task::yield_now().await;
            }
        }
        drop(done);
    }
}

/// The waiting appends of one key.
struct Group {
    batch: Batch,
    /// The callers that wait for an answer, by their index in the batch.
    answers: Vec<Option<Answer>>,
    taken: InFlight,
}

struct Answer {
    caller: oneshot::Sender<Result<Appended>>,
    _room: Option<OwnedSemaphorePermit>,
    calls: Calls,
}

impl InFlight {
    fn into_group(mut self, engine: &Engine) -> Group {
        let (entries, answers): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|waiting| {
                let answer = Answer {
                    caller: waiting.answer,
                    _room: waiting.room,
                    calls: waiting.calls,
                };
                (waiting.entry, Some(answer))
            })
            .unzip();
        let mut batch = Batch::new(self.scope.clone().by(engine.index.get()), entries);
        batch.newest_bucket = self.newest_bucket.clone();
        batch.is_unordered = true;
        Group {
            batch,
            answers,
            taken: self,
        }
    }
}

impl Group {
    /// Sends all of them, in as many commands as necessary.
    async fn send(mut self, engine: &Engine) -> InFlight {
        let calls = calls_of([&self]);
        let tell = |place: usize, result| {
            if let Some(answer) = self.answers[place].take() {
                answer.tell(result);
            }
            true
        };
        calls.carry(engine.append_each(&mut self.batch, tell)).await;
        self.done()
    }

    /// Answers all of them with the error; nothing was stored.
    fn refuse(mut self, error: &Error) -> InFlight {
        for answer in self.answers.drain(..).flatten() {
            answer.tell(Err(error.clone()));
        }
        self.done()
    }

    /// The guard whose drop lets the key's next command be sent. That command then knows the newest
    /// bucket that this one has found.
    fn done(self) -> InFlight {
        let Self {
            batch, mut taken, ..
        } = self;
        taken.newest_bucket = batch.newest_bucket;
        taken
    }
}

impl Answer {
    fn tell(self, result: Result<Appended>) {
        self.calls.are_answered();
        // The caller may have been dropped.
        let _ = self.caller.send(result);
    }
}

/// Sends the next statement of each key in one command. Keys that need a further one continue in other
/// tasks, so that no key waits for another. Returns the keys that are done.
async fn send_all(engine: &Engine, all: Vec<Group>) -> Vec<InFlight> {
    let mut done = Vec::with_capacity(all.len());
    let (mut groups, mut updates) = (Vec::new(), Vec::new());
    for group in all {
        match group.batch.statements(SendMode::WithOthers) {
            Ok(statements) => {
                if let Some((update, carried)) = statements.into_iter().next() {
                    updates.push(update);
                    groups.push((group, carried));
                }
            }
            Err(kind) => {
                let error = engine.target_of(&group.taken.scope).error(kind);
                done.push(group.refuse(&error));
            }
        }
    }
    if groups.is_empty() {
        // All callers were dropped.
        return done;
    }
    let calls = calls_of(groups.iter().map(|(group, _)| group));
    let sent = calls.carry(engine.server.update_all(updates, false));
    let results = match sent.await {
        Ok(results) => results,
        Err(error) => {
            done.extend(groups.into_iter().map(|(group, _)| {
                let error = engine
                    .target_of(&group.taken.scope)
                    .write_error(error.clone());
                group.refuse(&error)
            }));
            return done;
        }
    };
    let mut left = Vec::new();
    for ((mut group, carried), result) in groups.into_iter().zip(results) {
        let stored = match result {
            Err(error) if is_impossible_id(&error) => Ok(false),
            result => result.map(|()| true),
        };
        let noted =
            calls_of([&group]).doing(|| engine.note_outcome(&mut group.batch, carried, stored));
        match noted {
            Err(error) => done.push(group.refuse(&error)),
            // Nothing is left to send: this call only answers the waiting append.
            Ok(()) if group.batch.is_empty() => done.push(group.send(engine).await),
            Ok(()) => left.push(group),
        }
    }
    let numbers = |group: &Group| group.batch.needs_last_bucket();
    let (opening, left): (Vec<_>, Vec<_>) = left.into_iter().partition(numbers);
    if !opening.is_empty() {
        tokio::spawn(open_all(engine.clone(), opening));
    }
    for group in left {
        tokio::spawn(send_on(engine.clone(), group));
    }
    done
}

/// The calls that wait for answers of these groups.
fn calls_of<'g>(groups: impl IntoIterator<Item = &'g Group>) -> Calls {
    let answers = groups.into_iter().flat_map(|group| &group.answers);
    Calls::of_all(answers.flatten().map(|answer| &answer.calls))
}

/// Opens a bucket for each key, with the number after its last bucket: one command opens all, and two read
/// the last buckets of a hundred keys. A key that loses a race here goes on by itself.
fn open_all(engine: Engine, mut groups: Vec<Group>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let Some(queue) = groups.first().map(|group| Arc::clone(&group.taken.queue)) else {
            return;
        };
        let scopes: Vec<_> = groups.iter().map(|group| &group.batch.scope).collect();
        let calls = calls_of(&groups);
        match calls.carry(engine.server.last_buckets(&scopes)).await {
            Ok(last) => {
                for (group, last) in groups.iter_mut().zip(last) {
                    group.batch.note_last_bucket(last);
                }
                drop(send_all(&engine, groups).await);
            }
            // Each key reads its last bucket by itself, and its callers get the error.
            Err(_) => {
                for group in groups {
                    tokio::spawn(send_on(engine.clone(), group));
                }
            }
        }
        if let Some(worker) = queue.worker() {
            work(engine, worker).await;
        }
    })
}

/// Sends the rest of a key's appends, and all that have joined its queue meanwhile.
fn send_on(engine: Engine, group: Group) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let queue = Arc::clone(&group.taken.queue);
        drop(group.send(&engine).await);
        if let Some(worker) = queue.worker() {
            work(engine, worker).await;
        }
    })
}

//! Sending what waits, and telling each caller what became of its own.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::queue::{Taken, Worker};
use crate::{
    Error, Result,
    engine::{Batch, Engine, Sent},
    error::is_impossible_id,
};

/// Sends commands until nothing waits any more.
pub(super) async fn work(engine: Engine, mut worker: Worker) {
    loop {
        let mut taken = worker.take();
        match taken.len() {
            0 => return,
            1 => taken.remove(0).into_group().send(&engine).await,
            _ => send_all(&engine, taken).await,
        }
    }
}

/// Appends to one key, and those who wait for them.
struct Group {
    batch: Batch,
    answers: Vec<Answer>,
    taken: Taken,
}

struct Answer {
    caller: oneshot::Sender<Result<()>>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Taken {
    fn into_group(mut self) -> Group {
        let (entries, answers): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|waiting| {
                let answer = Answer {
                    caller: waiting.answer,
                    _room: waiting.room,
                };
                (waiting.entry, answer)
            })
            .unzip();
        let mut batch = Batch::new(self.scope.clone(), entries);
        batch.tail = self.tail.clone();
        Group {
            batch,
            answers,
            taken: self,
        }
    }
}

impl Group {
    /// Sends all of them, in as many commands as that takes.
    async fn send(mut self, engine: &Engine) {
        while !self.batch.is_empty() {
            let result = engine.step(&mut self.batch, None).await;
            self.acknowledge();
            if let Err(error) = result {
                self.refuse(engine, error).await;
            }
        }
        self.finish();
    }

    /// Lets the next command for the key know what this one has learned.
    fn finish(self) {
        let Self {
            batch, mut taken, ..
        } = self;
        taken.tail = batch.tail;
    }

    /// Tells those whose items are stored.
    fn acknowledge(&mut self) {
        let stored = self.answers.len() - self.batch.len();
        for answer in self.answers.drain(..stored) {
            answer.tell(Ok(()));
        }
    }

    /// Tells those whose items are not. If one item may be to blame for the others, each is sent
    /// by itself.
    async fn refuse(&mut self, engine: &Engine, error: Error) {
        let concerned = self.batch.concerned;
        let entries = self.batch.take(concerned);
        let answers = self.answers.drain(..concerned);
        if concerned == 1 || !error.is_refusal() {
            answers.for_each(|answer| answer.tell(Err(error.clone())));
            return;
        }
        for (entry, answer) in entries.into_iter().zip(answers) {
            let mut alone = Batch::new(self.taken.scope.clone(), [entry]);
            answer.tell(engine.append(&mut alone, None).await);
        }
    }
}

impl Answer {
    fn tell(self, result: Result<()>) {
        // The caller may have gone.
        let _ = self.caller.send(result);
    }
}

/// Sends the first statement of each key in one command. What takes more than that one is left to a
/// task of its own, so that no key waits for another.
async fn send_all(engine: &Engine, taken: Vec<Taken>) {
    let mut groups = Vec::with_capacity(taken.len());
    for group in taken.into_iter().map(Taken::into_group) {
        let statement = match group.batch.statements(Sent::WithOthers) {
            Ok(mut statements) => statements.pop(),
            Err(kind) => {
                let error = engine.fail(&group.taken.scope, kind);
                for answer in group.answers {
                    answer.tell(Err(error.clone()));
                }
                continue;
            }
        };
        groups.extend(statement.map(|statement| (group, statement)));
    }
    let updates = groups.iter().map(|(_, statement)| statement.update.clone());
    let results = match engine.server.update_all(updates.collect(), false).await {
        Ok(results) => results,
        Err(error) => {
            for (group, _) in groups {
                let error = engine.refused(&group.taken.scope, error.clone());
                for answer in group.answers {
                    answer.tell(Err(error.clone()));
                }
            }
            return;
        }
    };
    for ((mut group, statement), result) in groups.into_iter().zip(results) {
        let stored = match result {
            Err(error) if is_impossible_id(&error) => Ok(false),
            result => result.map(|()| true),
        };
        let learned = engine.learn(&mut group.batch, statement, stored);
        group.acknowledge();
        if let Err(error) = learned {
            group.refuse(engine, error).await;
        }
        if group.batch.is_empty() {
            group.finish();
        } else {
            tokio::spawn(send_on(engine.clone(), group));
        }
    }
}

/// Sends what is left of a key, and whatever has come to wait meanwhile.
fn send_on(engine: Engine, group: Group) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let queue = Arc::clone(&group.taken.queue);
        group.send(&engine).await;
        if let Some(worker) = queue.worker() {
            work(engine, worker).await;
        }
    })
}

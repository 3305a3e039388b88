//! The network and the server, with their faults: commands wait, get lost, are interrupted, and primaries change.

use std::{
    collections::HashMap,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bucket_runtime::{
    bson::{Bson, Deserializer, Document, doc},
    mongodb::error::{CommandError, Error as DriverError, ErrorKind},
};
use serde::Deserialize;
use tokio::time::sleep;

use crate::{
    store::Refusal,
    undone::Safeguard,
    world::{World, statements},
};

/// One network with its servers; each schedule has a new one.
#[derive(Clone)]
pub(crate) struct Network {
    world: Arc<Mutex<World>>,
    /// The server carries out one command of a session at a time.
    locks: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>>,
}

/// What happens to a command on its way.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Answered,
    /// It never arrives.
    Lost,
    /// Its answer is lost.
    AnswerLost,
    /// The connection breaks, and the command arrives later.
    Late,
    /// The server is interrupted before this statement.
    Interrupted(usize),
    /// Another member becomes the primary before this statement.
    Election(usize),
}

/// Why a command has no answer of its own.
enum Unanswered {
    Refused(Refusal),
    /// Its primary is gone, and the connection with it.
    Broken,
}

impl From<Refusal> for Unanswered {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Network {
    pub(crate) fn new(world: World) -> Self {
        Self {
            world: Arc::new(Mutex::new(world)),
            locks: Arc::default(),
        }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries a command to the server and its answer back.
    pub(crate) async fn deliver(
        &self,
        handle: &str,
        session: &str,
        command: &Document,
    ) -> Result<Document, DriverError> {
        if self.world().crashed.contains(handle) {
            return pending().await;
        }
        let (fate, [there, back, late]) = {
            let mut world = self.world();
            world.commands += 1;
            let fate = fate(&mut world, statements(command).len());
            let most = if world.is_rough { 20_000 } else { 1 };
            let times = [most, most, 10 * most];
            (
                fate,
                times.map(|most| Duration::from_micros(world.below(most))),
            )
        };
        // What was sent is carried out, even if its caller is gone.
        let sent = tokio::spawn({
            let (network, mut command) = (self.clone(), command.clone());
            let (handle, session) = (handle.to_owned(), session.to_owned());
            async move {
                let on_its_way = if fate == Fate::Late {
                    there + late
                } else {
                    there
                };
                sleep(on_its_way).await;
                if fate == Fate::Lost {
                    return Ok(Document::new());
                }
                if let Some(safeguard) = network.world().undone {
                    safeguard.undo(&mut command);
                }
                let answer = network.carry_out(&session, &command, fate).await;
                let mut world = network.world();
                world.note(|| {
                    let answer = match &answer {
                        Ok(answer) => answer.to_string(),
                        Err(Unanswered::Refused((code, text))) => format!("{code}: {text}"),
                        Err(Unanswered::Broken) => "broken off".to_owned(),
                    };
                    format!("{handle} {session} {fate:?} {command} -> {answer}")
                });
                if !statements(&command).is_empty() && !matches!(answer, Err(Unanswered::Broken)) {
                    world.replicate();
                }
                answer
            }
        });
        let answer = match fate {
            Fate::Late => {
                sleep(there).await;
                Err(Unanswered::Broken)
            }
            _ => match sent.await {
                Ok(_) if matches!(fate, Fate::Lost | Fate::AnswerLost) => Err(Unanswered::Broken),
                Ok(answer) => answer,
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            },
        };
        sleep(back).await;
        if self.world().crashed.contains(handle) {
            return pending().await;
        }
        answer.map_err(|unanswered| match unanswered {
            Unanswered::Broken => ErrorKind::from(std::io::ErrorKind::ConnectionReset).into(),
            Unanswered::Refused(refusal) => refused(refusal),
        })
    }

    fn lock_of(&self, session: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry(session.to_owned()).or_default())
    }

    /// The primary carries out a command, statement by statement; others come in between.
    async fn carry_out(
        &self,
        session: &str,
        command: &Document,
        fate: Fate,
    ) -> Result<Document, Unanswered> {
        let writes = statements(command).len();
        if writes == 0 {
            return Ok(self.world().read(command)?);
        }
        let lock = self.lock_of(session);
        let _lock = lock.lock().await;
        let term = self.world().term;
        let is_ordered = command.get_bool("ordered").unwrap_or(true);
        let mut answer = WriteAnswer::default();
        for at in 0..writes {
            let is_rough = self.world().is_rough;
            if at > 0 && is_rough {
                let pause = self.world().below(2_000);
                sleep(Duration::from_micros(pause)).await;
            }
            let mut world = self.world();
            if fate == Fate::Election(at) {
                world.elect();
            }
            if world.term != term {
                return Err(Unanswered::Broken);
            }
            if fate == Fate::Interrupted(at) {
                return Err((11601, "operation was interrupted".to_owned()).into());
            }
            if at == 0 {
                world.begin(session, command)?;
            }
            let written = world.write(session, command, at);
            if command.contains_key("findAndModify") {
                return Ok(doc! { "value": written?.0.value });
            }
            if answer.add(at, written) && is_ordered {
                break;
            }
        }
        Ok(answer.into_reply())
    }
}

/// The answer to a write, as it grows.
#[derive(Default)]
struct WriteAnswer {
    n: i32,
    modified: i32,
    errors: Vec<Document>,
    upserted: Vec<Document>,
    retried: Vec<i32>,
}

impl WriteAnswer {
    /// Adds the result of a statement; returns whether it was refused.
    fn add(&mut self, at: usize, written: Result<(crate::store::Effect, bool), Refusal>) -> bool {
        let index = at as i32;
        match written {
            Ok((effect, before)) => {
                self.n += effect.n;
                self.modified += effect.modified;
                let upserted = effect.upserted;
                (self.upserted).extend(upserted.map(|id| doc! { "index": index, "_id": id }));
                self.retried.extend(before.then_some(index));
                false
            }
            Err((code, text)) => {
                (self.errors).push(doc! { "index": index, "code": code, "errmsg": text });
                true
            }
        }
    }

    fn into_reply(self) -> Document {
        let mut reply = doc! { "n": self.n, "nModified": self.modified };
        if !self.errors.is_empty() {
            reply.insert("writeErrors", self.errors);
        }
        if !self.upserted.is_empty() {
            reply.insert("upserted", self.upserted);
        }
        if !self.retried.is_empty() {
            reply.insert("retriedStmtIds", self.retried);
        }
        reply
    }
}

fn fate(world: &mut World, statements: usize) -> Fate {
    if !world.is_rough {
        return Fate::Answered;
    }
    match world.below(48) {
        0 | 1 => Fate::Lost,
        2 | 3 => Fate::AnswerLost,
        4 if world.undone == Some(Safeguard::NoLateCopies) => Fate::Late,
        5 if statements > 0 => Fate::Interrupted(world.below(statements as u64) as usize),
        6 if statements > 0 => Fate::Election(world.below(statements as u64) as usize),
        _ => Fate::Answered,
    }
}

fn refused((code, text): Refusal) -> DriverError {
    let reply = doc! { "code": code, "errmsg": text };
    let error = CommandError::deserialize(Deserializer::new(Bson::Document(reply)));
    error.map_or_else(Into::into, |error| ErrorKind::Command(error).into())
}

//! The network and the server, with their faults: commands wait, get lost, are interrupted, and primaries change.

use std::{
    collections::HashMap,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bucket_core::server::wire::simulated::reach;
use bucket_runtime::{
    bson::{Bson, Deserializer, Document, doc},
    mongodb::error::{
        CommandError, Error as DriverError, ErrorKind, TRANSIENT_TRANSACTION_ERROR,
        WriteConcernError, WriteFailure,
    },
};
use serde::Deserialize;
use tokio::time::{sleep, sleep_until};

use crate::{
    store::{Effect, Refusal},
    transaction::{is_aborted, is_part},
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

/// The longest pause before a command looks again for transactions.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two statements of a command, in microseconds.
const STATEMENT: u64 = 2_000;

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

impl Fate {
    fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Lost => "lost",
            Self::AnswerLost => "answer lost",
            Self::Late => "late",
            Self::Interrupted(_) => "interrupted",
            Self::Election(_) => "election",
        }
    }
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
        self.world().begin_command(handle);
        self.wait_for_process(handle).await;
        let (fate, [there, back, late]) = {
            let mut world = self.world();
            world.commands += 1;
            let writes = match command.contains_key("commitTransaction") {
                true => 1,
                false => statements(command).len(),
            };
            let fate = fate(&mut world, writes);
            if fate != Fate::Answered {
                let verb = command.keys().next().map_or("", |name| name);
                reach(format!("a fault: {}, {verb}", fate.name()));
            }
            (fate, world.next_times())
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
        self.wait_for_process(handle).await;
        answer.map_err(|unanswered| match unanswered {
            Unanswered::Broken => ErrorKind::from(std::io::ErrorKind::ConnectionReset).into(),
            Unanswered::Refused(refusal) => refused(refusal),
        })
    }

    /// Waits while the process of a handle stands still: for ever if it has ended.
    async fn wait_for_process(&self, handle: &str) {
        let until = self.world().stopped.get(handle).copied();
        match until {
            Some(Some(until)) => sleep_until(until).await,
            Some(None) => pending().await,
            None => {}
        }
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
        match command.keys().next().map_or("", |name| name) {
            "createIndexes" => self.create_indexes(command).await,
            name @ ("dropIndexes" | "collMod") => {
                self.wait_for_transactions().await;
                let mut world = self.world();
                Ok(match name {
                    "collMod" => world.hide_index(command)?,
                    _ => world.drop_index(command)?,
                })
            }
            "commitTransaction" | "abortTransaction" => {
                let lock = self.lock_of(session);
                let _lock = lock.lock().await;
                let mut world = self.world();
                if fate == Fate::Election(0) {
                    world.elect();
                    return Err(Unanswered::Broken);
                }
                Ok(world.end_transaction(session, command)?)
            }
            _ if writes == 0 => self.read(session, command).await,
            _ => self.write(session, command, fate).await,
        }
    }

    /// Reads; a pipeline may pass some documents before others are written.
    async fn read(&self, session: &str, command: &Document) -> Result<Document, Unanswered> {
        let (passed, term) = {
            let mut world = self.world();
            (world.pass_some(session, command), world.term)
        };
        if passed.is_some() {
            let longest = self.world().pace.longest_scan;
            self.pause(longest).await;
        }
        let mut world = self.world();
        if world.term != term {
            return Err(Unanswered::Broken);
        }
        let passed = passed.map(|passed| world.pass_others(session, command, passed));
        Ok(world.read(session, command, passed)?)
    }

    /// Carries out a write, statement by statement.
    async fn write(
        &self,
        session: &str,
        command: &Document,
        fate: Fate,
    ) -> Result<Document, Unanswered> {
        let lock = self.lock_of(session);
        let _lock = lock.lock().await;
        let term = self.world().term;
        let all = statements(command);
        if all[0].contains_key("multi") && !is_part(command) {
            return self.update_many(session, command, fate).await;
        }
        let is_ordered = command.get_bool("ordered").unwrap_or(true);
        let mut answer = WriteAnswer::default();
        for at in 0..all.len() {
            if at > 0 {
                self.pause(STATEMENT).await;
            }
            let written = self.write_one(session, command, at, fate, term).await?;
            if command.contains_key("findAndModify") {
                return Ok(doc! { "value": written?.0.value });
            }
            if let Err(refusal) = &written
                && is_aborted(refusal)
            {
                return Err(refusal.clone().into());
            }
            if answer.add(at, written) && is_ordered {
                break;
            }
        }
        Ok(answer.into_reply())
    }

    /// Carries out one statement, unless the command ends before.
    async fn write_one(
        &self,
        session: &str,
        command: &Document,
        at: usize,
        fate: Fate,
        term: u64,
    ) -> Result<Written, Unanswered> {
        self.wait_for_others(session, command, at).await;
        if fate == Fate::Election(at) {
            self.world().elect();
        }
        if self.world().term != term {
            return Err(Unanswered::Broken);
        }
        if fate == Fate::Interrupted(at) {
            self.world().abort(session);
            return Err(interrupted());
        }
        if at == 0 && !is_part(command) {
            self.world().begin(session, command)?;
        }
        let planned = self.plan(session, command, at).await;
        self.wait_for_others(session, command, at).await;
        let mut world = self.world();
        match world.term == term {
            true => Ok(planned.and_then(|()| world.write(session, command, at))),
            false => Err(Unanswered::Broken),
        }
    }
}

/// What takes its time while other commands come in between.
impl Network {
    /// A statement that names an index now and then waits in its plan. One that was carried out before has none.
    async fn plan(&self, session: &str, command: &Document, at: usize) -> Result<(), Refusal> {
        let waits = {
            let mut world = self.world();
            world.is_rough
                && world.changes_capacity
                && statements(command)[at].contains_key("hint")
                && !is_part(command)
                && world.was_done(session, command, at).is_none()
                && world.happens(4)
        };
        if !waits {
            return Ok(());
        }
        let plan = self.world().begin_plan(session, command, at);
        self.pause(STATEMENT).await;
        self.world().continue_plan(plan)
    }

    /// Changes each document that was found, if it still matches.
    async fn update_many(
        &self,
        session: &str,
        command: &Document,
        fate: Fate,
    ) -> Result<Document, Unanswered> {
        let term = self.world().term;
        let mut answer = WriteAnswer::default();
        let found = self.world().find_each(command);
        for one in found {
            self.pause(STATEMENT).await;
            self.wait_for_others(session, &one, 0).await;
            let mut world = self.world();
            let is_here = world.happens(2);
            if is_here && matches!(fate, Fate::Election(_)) {
                world.elect();
            }
            if world.term != term {
                return Err(Unanswered::Broken);
            }
            if is_here && matches!(fate, Fate::Interrupted(_)) {
                return Err(interrupted());
            }
            if answer.add(0, world.write(session, &one, 0)) {
                break;
            }
        }
        Ok(answer.into_reply())
    }

    /// Builds indexes, which goes on if the primary changes.
    async fn create_indexes(&self, command: &Document) -> Result<Document, Unanswered> {
        let term = self.world().term;
        let builds = self.lock_of("createIndexes");
        let _builds = builds.lock().await;
        self.wait_for_transactions().await;
        let names = self.world().begin_indexes(command)?;
        // Where all are there, the server answers at once.
        if !names.is_empty() {
            self.pause(STATEMENT).await;
            self.wait_for_transactions().await;
        }
        let mut world = self.world();
        let built = world.end_indexes(command, &names)?;
        match world.term == term {
            true => Ok(built),
            false => Err(Unanswered::Broken),
        }
    }

    /// Waits until no transaction holds what a statement would change.
    async fn wait_for_others(&self, session: &str, command: &Document, at: usize) {
        if is_part(command) {
            return;
        }
        self.wait_while(|world| world.is_blocked(session, command, at))
            .await;
    }

    /// Waits until no transaction is open.
    async fn wait_for_transactions(&self) {
        self.wait_while(World::has_transactions).await;
    }

    async fn wait_while(&self, is_in_the_way: impl Fn(&mut World) -> bool) {
        let mut pause = Duration::from_millis(1);
        while is_in_the_way(&mut self.world()) {
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// At most so many microseconds.
    async fn pause(&self, longest: u64) {
        let pause = {
            let mut world = self.world();
            if world.is_rough {
                world.below(longest)
            } else {
                0
            }
        };
        sleep(Duration::from_micros(pause)).await;
    }
}

fn interrupted() -> Unanswered {
    (11601, "operation was interrupted".to_owned()).into()
}

/// The effect of a statement, and whether that was before.
type Written = Result<(Effect, bool), Refusal>;

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
    fn add(&mut self, at: usize, written: Written) -> bool {
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
    let any = world.below(48);
    let statements = statements as u64;
    let without = world.without;
    let happens = |fault: u32| without & (1 << fault) == 0;
    match any {
        1 | 2 if happens(0) => Fate::Lost,
        3 | 4 if happens(1) => Fate::AnswerLost,
        5 if happens(2) && statements > 0 => Fate::Interrupted(world.below(statements) as usize),
        6 if happens(3) && statements > 0 => Fate::Election(world.below(statements) as usize),
        7..13 if world.undone == Some(Safeguard::NoLateCopies) => Fate::Late,
        _ => Fate::Answered,
    }
}

fn refused(refusal: Refusal) -> DriverError {
    if is_aborted(&refusal) {
        return labelled(refusal, TRANSIENT_TRANSACTION_ERROR);
    }
    let (code, text) = refusal;
    let reply = doc! { "code": code, "errmsg": text };
    let error = CommandError::deserialize(Deserializer::new(Bson::Document(reply)));
    error.map_or_else(Into::into, |error| ErrorKind::Command(error).into())
}

/// An error with a label. The driver lets others make only this kind of them.
pub(crate) fn labelled((code, text): Refusal, label: &str) -> DriverError {
    let error = doc! { "code": code, "codeName": "", "errmsg": text, "errorLabels": [label] };
    let error = WriteConcernError::deserialize(Deserializer::new(Bson::Document(error)));
    let failure = error.map(WriteFailure::WriteConcernError);
    failure.map_or_else(Into::into, |failure| ErrorKind::Write(failure).into())
}

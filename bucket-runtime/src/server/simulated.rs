//! What answers in place of a server, for the simulation of the engine (`tests/simulation`); only with the feature
//! `__simulated`, which that crate alone switches on.
//!
//! The seam lies where a command is a document, and its answer a document or an error of the driver: right below
//! the code that builds commands and reads answers. A macro, [`simulated!`], stands before each action of the
//! driver that the simulation knows, and sends the same command as a document if the thread has a simulated server.
//! Sessions are the driver's own, which need no server until they send something.

use std::{cell::RefCell, collections::VecDeque, slice, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use mongodb::{
    Client, ClientSession,
    bson::{Bson, Deserializer, Document, doc},
    change_stream::event::{ChangeStreamEvent, ResumeToken},
    error::{Error as DriverError, ErrorKind, WriteFailure},
    results::UpdateResult,
};
use serde::{Serialize, de::DeserializeOwned};

use super::Server;
use crate::value::bytes;

thread_local! {
    static SIMULATED: RefCell<Option<Arc<dyn Simulated>>> = const { RefCell::new(None) };
}

/// The answer to a command.
type SimulatedAnswer = Result<Document, DriverError>;

/// A command on its way to the simulated server.
#[derive(Debug)]
pub struct Request {
    /// The database's name, by which the simulation knows the handle.
    pub database: String,
    /// The session in which it is sent, if there is one.
    pub session: Option<Document>,
    /// The command.
    pub command: Document,
    /// Whether an action of the driver sends it, which numbers a write and repeats it after a broken connection.
    pub is_action: bool,
}

/// The server, the network before it, and all chance.
pub trait Simulated: Send + Sync {
    /// Answers a command, or loses it.
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Document, DriverError>>;

    /// The driver has used up a number of this session without a command.
    fn skip_number(&self, session: &Document);

    /// A transaction begins, under the next number of this session, with the session's next command.
    fn begin(&self, session: &Document);

    /// Whether the driver would throw this session away, since a connection broke under it.
    fn is_dirty(&self, session: &Document) -> bool;

    /// A random number below this one.
    fn random(&self, below: u64) -> u64;
}

/// Lets this server answer what the runtime sends on this thread, or a real one again.
pub fn install(server: Option<Arc<dyn Simulated>>) {
    SIMULATED.set(server);
}

/// A random number below this one, if chance is simulated.
pub(crate) fn random(below: u64) -> Option<u64> {
    current().map(|simulated| simulated.random(below))
}

/// A limit that a schedule reaches, in place of a greater one.
pub(crate) fn within_reach(limit: usize) -> usize {
    if is_on() { 2 } else { limit }
}

pub(super) fn is_on() -> bool {
    SIMULATED.with_borrow(Option::is_some)
}

/// Panics at a request that the simulation does not know, which the driver would try to send.
pub(super) fn refuse_driver<R>() {
    let request = std::any::type_name::<R>();
    let is_drivers = request
        .trim_start_matches('&')
        .starts_with("mongodb::action");
    assert!(!(is_drivers && is_on()), "{request} is not simulated");
}

fn current() -> Option<Arc<dyn Simulated>> {
    SIMULATED.with_borrow(Option::clone)
}

/// Returns what a function makes of the simulated server's answer to a command, if this thread has such a server.
macro_rules! simulated {
    ($server:expr, $session:expr, $is_action:literal, $command:expr, $read:expr) => {{
        if $crate::server::simulated::is_on() {
            let session: Option<&mut mongodb::ClientSession> = $session;
            let session = session.map(|session| session.id().clone());
            let sent = $server.simulate(session, $is_action, $command);
            return $read($server.ask(sent).await);
        }
    }};
}
pub(super) use simulated;

impl Server {
    pub(super) fn update_command(&self, statements: impl Into<Vec<Document>>) -> Document {
        doc! { "update": self.collection.name(), "updates": statements.into() }
    }

    pub(super) fn update_many_command(
        &self,
        filter: Document,
        pipeline: Vec<Document>,
    ) -> Document {
        self.update_command([doc! { "q": filter, "u": pipeline, "multi": true }])
    }

    pub(super) fn insert_command<D: Serialize>(
        &self,
        documents: &[D],
        ordered: bool,
    ) -> Result<Document, DriverError> {
        let name = self.collection.name();
        Ok(doc! { "insert": name, "documents": self::documents(documents)?, "ordered": ordered })
    }

    pub(super) fn change_command(
        &self,
        filter: Document,
        pipeline: Option<Vec<Document>>,
        hint: Option<&str>,
        fields: Document,
    ) -> Document {
        let mut command = doc! {
            "findAndModify": self.collection.name(),
            "query": filter,
            "fields": fields,
        };
        command.extend(match pipeline {
            Some(pipeline) => doc! { "update": pipeline, "new": true },
            None => doc! { "remove": true },
        });
        command.extend(hint.map(|hint| ("hint".to_owned(), hint.into())));
        command
    }

    pub(super) fn count_command(&self, filter: &Document) -> Document {
        let group = doc! { "$group": { "_id": 1, "n": { "$sum": 1 } } };
        let pipeline = vec![doc! { "$match": filter.clone() }, group];
        doc! { "aggregate": self.collection.name(), "pipeline": pipeline, "cursor": {} }
    }

    /// With a limit of 0, all matching documents are deleted.
    pub(super) fn delete_command(&self, filter: Document, limit: i32) -> Document {
        let delete = doc! { "q": filter, "limit": limit };
        doc! { "delete": self.collection.name(), "deletes": [delete] }
    }

    /// Sends a command to the simulated server. An action of the driver without a session takes one of the driver's.
    pub(super) fn simulate(
        &self,
        session: Option<Document>,
        is_action: bool,
        command: Document,
    ) -> BoxFuture<'_, SimulatedAnswer> {
        Box::pin(async move {
            let simulated = current().ok_or_else(|| DriverError::custom("no simulated server"))?;
            let implicit = match &session {
                None if is_action => Some(start_session(self.collection.client()).await?),
                _ => None,
            };
            let session = session.or_else(|| Some(implicit.as_ref()?.id().clone()));
            let answer = simulated.send(Request {
                database: self.collection.namespace().db,
                session,
                command,
                is_action,
            });
            answer.await
        })
    }
}

/// A session of the driver that it would use: not one under which a connection broke.
pub(super) async fn start_session(client: &Client) -> Result<ClientSession, DriverError> {
    let mut dirty = Vec::new();
    loop {
        let session = client.start_session().await?;
        match current() {
            Some(simulated) if simulated.is_dirty(session.id()) => dirty.push(session),
            _ => return Ok(session),
        }
    }
}

/// Tells the simulation that the driver counts this session's numbers on.
pub(super) fn skip_number(session: &ClientSession) {
    if let Some(simulated) = current() {
        simulated.skip_number(session.id());
    }
}

/// Lets the simulation begin the transaction that the driver has begun, and ends the driver's, which has not sent
/// anything.
pub(super) async fn begin(session: &mut ClientSession) -> Result<(), DriverError> {
    let Some(simulated) = current() else {
        return Ok(());
    };
    simulated.begin(session.id());
    session.abort_transaction().await
}

/// The result of an update by the driver.
pub(super) fn updated(answer: SimulatedAnswer) -> Result<UpdateResult, DriverError> {
    let answer = written(answer)?;
    let number = |name| u64::from(answer.get_i32(name).unwrap_or(0).unsigned_abs());
    let mut result = UpdateResult::default();
    result.modified_count = number("nModified");
    let upserted = (answer.get_array("upserted").ok()).and_then(|all| all.first()?.as_document());
    result.upserted_id = upserted.and_then(|one| one.get("_id").cloned());
    result.matched_count = match result.upserted_id {
        Some(_) => 0,
        None => number("n"),
    };
    Ok(result)
}

/// The document that an edit has changed.
pub(super) fn changed(answer: SimulatedAnswer) -> Result<Option<Document>, DriverError> {
    match answer?.remove("value") {
        Some(Bson::Document(changed)) => Ok(Some(changed)),
        _ => Ok(None),
    }
}

/// How many documents were deleted.
pub(super) fn deleted(answer: SimulatedAnswer) -> Result<u64, DriverError> {
    let deleted = written(answer)?.get_i32("n").unwrap_or(0);
    Ok(u64::from(deleted.unsigned_abs()))
}

/// The answer to a write by the driver, which is an error if it holds one.
pub(super) fn written(answer: SimulatedAnswer) -> SimulatedAnswer {
    let mut answer = answer?;
    if let Some(Bson::Array(mut refused)) = answer.remove("writeErrors") {
        let error = part(refused.remove(0))?;
        return Err(ErrorKind::Write(WriteFailure::WriteError(error)).into());
    }
    match answer.remove("writeConcernError") {
        Some(error) => Err(ErrorKind::Write(WriteFailure::WriteConcernError(part(error)?)).into()),
        None => Ok(answer),
    }
}

/// How many documents were counted.
pub(super) fn counted(answer: SimulatedAnswer) -> Result<u64, DriverError> {
    let counted = rows::<Document>(answer)?.pop();
    let counted = counted.map_or(0, |row| row.get_i32("n").unwrap_or(0));
    Ok(u64::from(counted.unsigned_abs()))
}

/// An error if the answer to the driver's insertion of many documents holds one.
pub(super) fn inserted(answer: SimulatedAnswer) -> Result<(), DriverError> {
    let answer = answer?;
    if answer.contains_key("writeErrors") || answer.contains_key("writeConcernError") {
        return Err(ErrorKind::InsertMany(part(answer.into())?).into());
    }
    Ok(())
}

/// All rows of an answer: the simulated server keeps no cursors.
pub(super) fn rows<R: DeserializeOwned>(answer: SimulatedAnswer) -> Result<Vec<R>, DriverError> {
    let rows = answer?.remove("rows");
    let Some(Bson::Array(rows)) = rows else {
        return Ok(Vec::new());
    };
    rows.iter().map(sent).collect()
}

/// A change stream, each batch of which is a command that repeats its position.
pub(super) struct ChangeStream {
    server: Server,
    wanted: Vec<Document>,
    reached: ResumeToken,
    batch: VecDeque<ChangeStreamEvent<Document>>,
}

/// How long the server waits for an event.
const EVENT_PAUSE: Duration = Duration::from_millis(100);

impl ChangeStream {
    pub(super) async fn open(
        server: &Server,
        wanted: &[Document],
        after: Option<ResumeToken>,
    ) -> Result<Self, DriverError> {
        let reached = match after {
            Some(after) => after,
            None => changes(server, wanted, Bson::Null).await?.0,
        };
        Ok(Self {
            server: server.clone(),
            wanted: wanted.to_vec(),
            reached,
            batch: VecDeque::new(),
        })
    }

    pub(super) async fn next_if_any(
        &mut self,
    ) -> Result<Option<ChangeStreamEvent<Document>>, DriverError> {
        if self.batch.is_empty() {
            tokio::time::sleep(EVENT_PAUSE).await;
            let after = documents(slice::from_ref(&self.reached))?.remove(0);
            let reached;
            (reached, self.batch) = changes(&self.server, &self.wanted, after.into()).await?;
            if self.batch.is_empty() {
                self.reached = reached;
            }
        }
        let event = self.batch.pop_front();
        if let Some(event) = &event {
            self.reached = event.id.clone();
        }
        Ok(event)
    }

    pub(super) fn resume_token(&self) -> ResumeToken {
        self.reached.clone()
    }
}

/// The events after a position, and the position after them.
async fn changes(
    server: &Server,
    wanted: &[Document],
    after: Bson,
) -> Result<(ResumeToken, VecDeque<ChangeStreamEvent<Document>>), DriverError> {
    let name = server.collection.name();
    let command = doc! { "changes": name, "after": after, "filter": { "$or": wanted.to_vec() } };
    let mut answer = server.simulate(None, true, command).await?;
    let reached = part(answer.remove("token").unwrap_or(Bson::Null))?;
    Ok((reached, rows(Ok(answer))?.into()))
}

/// Values as the documents that a command carries.
pub(super) fn documents<D: Serialize>(values: &[D]) -> Result<Vec<Document>, DriverError> {
    values.iter().map(sent).collect()
}

/// What the other side reads.
fn sent<D: Serialize, R: DeserializeOwned>(value: &D) -> Result<R, DriverError> {
    let written = bytes::write(value);
    bytes::read(&written.map_err(|error| DriverError::custom(error.to_string()))?)
}

fn part<T: DeserializeOwned>(value: Bson) -> Result<T, DriverError> {
    let read = T::deserialize(Deserializer::new(value));
    read.map_err(|error| DriverError::custom(error.to_string()))
}

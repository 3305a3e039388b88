//! The runtime's requests as commands, and the server's answers as the driver gives them.

use std::{collections::VecDeque, time::Duration};

use bucket_core::server::{
    watch::Event,
    wire::{
        EventStream, ReadRequest, Request, Response,
        simulated::{Simulated, SimulatedResponse},
    },
};
use bucket_runtime::{
    bson::{Bson, Deserializer, Document, RawDocumentBuf, Serializer, doc},
    mongodb::{
        Client, ClientSession, Collection,
        change_stream::event::ResumeToken,
        error::{Error as DriverError, ErrorKind, WriteFailure},
        options::{Hint, ReadConcern, UpdateModifications},
    },
};
use futures_util::{FutureExt, future::BoxFuture};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::sleep;

use crate::driver::{Driver, Sent};

impl Simulated for Driver {
    fn read(
        &self,
        from: &Collection<Document>,
        session: Option<Document>,
        request: ReadRequest,
    ) -> SimulatedResponse<Vec<RawDocumentBuf>> {
        let command = read_command(from, request);
        let sent = self.clone().send_for(from.clone(), session, command, true);
        let documents = sent.map(|answer| rows(answer?)?.iter().map(raw).collect());
        documents.boxed()
    }

    fn send(
        &self,
        to: &Collection<Document>,
        session: Option<Document>,
        request: Request<'_>,
    ) -> SimulatedResponse<Response> {
        let is_action = !matches!(request, Request::Run(..));
        let (command, answer_of) = command_of(to.name(), request);
        let sent = (self.clone()).send_for(to.clone(), session, command, is_action);
        sent.map(move |answer| answer_of(answer?)).boxed()
    }

    fn watch(
        &self,
        of: Collection<Document>,
        wanted: Vec<Document>,
        after: Option<ResumeToken>,
    ) -> SimulatedResponse<Box<dyn EventStream>> {
        let stream = ChangeStream {
            driver: self.clone(),
            of,
            wanted,
            reached: after,
            batch: VecDeque::new(),
        };
        let open = async { Ok(Box::new(stream.open().await?) as Box<dyn EventStream>) };
        open.boxed()
    }

    fn start_session(&self, client: Client) -> SimulatedResponse<ClientSession> {
        let driver = self.clone();
        let start = async move {
            let mut dirty = Vec::new();
            loop {
                let session = client.start_session().await?;
                match driver.is_dirty(session.id()) {
                    true => dirty.push(session),
                    false => return Ok(session),
                }
            }
        };
        start.boxed()
    }

    fn skip_number(&self, session: &Document) {
        self.count_number(session);
    }

    fn begin(&self, session: &Document) {
        self.begin_transaction(session);
    }

    fn random(&self, below: u64) -> u64 {
        self.network.world().below(below)
    }
}

impl Driver {
    /// Sends a command of a handle, if it has no session in one of the driver's.
    async fn send_for(
        self,
        collection: Collection<Document>,
        session: Option<Document>,
        command: Document,
        is_action: bool,
    ) -> Result<Document, DriverError> {
        let implicit = match session {
            None => Some(self.start_session(collection.client().clone()).await?),
            Some(_) => None,
        };
        let session = session.or_else(|| Some(implicit.as_ref()?.id().clone()));
        let sent = Sent {
            handle: collection.namespace().db,
            session,
            command,
            is_action,
        };
        self.deliver(sent).await
    }
}

fn read_command(from: &Collection<Document>, request: ReadRequest) -> Document {
    let name = from.name();
    let (mut command, hint, concern) = match request {
        ReadRequest::Find(filter, options) => {
            let mut find = doc! { "find": name, "filter": filter };
            let mut set = |name: &str, value: Option<Bson>| {
                find.extend(value.map(|value| (name.to_owned(), value)));
            };
            set("sort", options.sort.map(Bson::from));
            set("projection", options.projection.map(Bson::from));
            set("skip", options.skip.map(|skip| Bson::from(skip as i64)));
            set("limit", options.limit.map(Bson::from));
            (find, options.hint, options.read_concern)
        }
        ReadRequest::Aggregate(pipeline, options) => (
            doc! { "aggregate": name, "pipeline": pipeline, "cursor": {} },
            options.hint,
            options.read_concern,
        ),
        ReadRequest::Indexes => return doc! { "listIndexes": name },
        ReadRequest::Collections(filter) => return doc! { "listCollections": 1, "filter": filter },
    };
    if let Some(Hint::Name(hint)) = hint {
        command.insert("hint", hint);
    }
    let concern = concern.as_ref().or(from.read_concern());
    for (level, of_majority) in [
        ("majority", ReadConcern::majority()),
        ("snapshot", ReadConcern::snapshot()),
    ] {
        if concern == Some(&of_majority) {
            command.insert("readConcern", doc! { "level": level });
        }
    }
    command
}

/// What the driver makes of the server's answer.
type ReadAnswer = fn(Document) -> Result<Response, DriverError>;

/// A request as a command, and what reads its answer.
fn command_of(name: &str, request: Request<'_>) -> (Document, ReadAnswer) {
    let update = |statement: Document| doc! { "update": name, "updates": [statement] };
    let delete = |filter: Document, limit: i32| {
        let statement = doc! { "q": filter, "limit": limit };
        doc! { "delete": name, "deletes": [statement] }
    };
    match request {
        Request::Count(filter) => {
            let group = doc! { "$group": { "_id": 1, "n": { "$sum": 1 } } };
            let pipeline = vec![doc! { "$match": filter }, group];
            let count = doc! { "aggregate": name, "pipeline": pipeline, "cursor": {} };
            (count, counted)
        }
        Request::Update(one) => {
            let statement = doc! { "q": one.filter, "u": one.update, "upsert": one.upsert };
            (update(hinted(statement, one.hint)), updated)
        }
        Request::UpdateMany(filter, changes, hint) => {
            let changes = match changes {
                UpdateModifications::Document(changes) => Bson::from(changes),
                UpdateModifications::Pipeline(pipeline) => Bson::from(pipeline),
                other => panic!("{other:?} is not simulated"),
            };
            let statement = doc! { "q": filter, "u": changes, "multi": true };
            (update(hinted(statement, hint)), updated)
        }
        Request::Change {
            filter,
            pipeline,
            hint,
            fields,
        } => {
            let mut change = doc! { "findAndModify": name, "query": filter, "fields": fields };
            change.extend(match pipeline {
                Some(pipeline) => doc! { "update": pipeline, "new": true },
                None => doc! { "remove": true },
            });
            (hinted(change, hint), changed)
        }
        Request::Replace(filter, document) => {
            (update(doc! { "q": filter, "u": document }), updated)
        }
        Request::InsertOne(document) => (
            doc! { "insert": name, "documents": [document], "ordered": true },
            |answer| written(answer).map(|_| Response::default()),
        ),
        Request::Insert(documents, ordered) => {
            let documents = documents.iter().map(|one| Document::try_from(one.as_ref()));
            let documents = documents.collect::<Result<Vec<_>, _>>();
            let documents = documents.expect("documents");
            let insert = doc! { "insert": name, "documents": documents, "ordered": ordered };
            (insert, inserted)
        }
        Request::Delete(filter) => (delete(filter, 1), deleted),
        Request::DeleteMany(filter) => (delete(filter, 0), deleted),
        Request::CreateIndexes(models) => {
            let models = Vec::from_iter(models.iter().map(bson));
            (doc! { "createIndexes": name, "indexes": models }, done)
        }
        Request::DropIndex(index) => (doc! { "dropIndexes": name, "index": index }, done),
        Request::Run(_, command) => {
            let command = Document::try_from(command.as_ref()).expect("a command");
            (command, |answer| {
                let document = Some(answer);
                Ok(Response {
                    document,
                    ..Response::default()
                })
            })
        }
        Request::Commit => (doc! { "commitTransaction": 1 }, done),
        Request::Abort => (doc! { "abortTransaction": 1 }, done),
        Request::Create(_) => panic!("{request:?} is not simulated"),
    }
}

fn hinted(mut statement: Document, hint: Option<&str>) -> Document {
    statement.extend(hint.map(|hint| ("hint".to_owned(), hint.into())));
    statement
}

fn done(_: Document) -> Result<Response, DriverError> {
    Ok(Response::default())
}

fn counted(answer: Document) -> Result<Response, DriverError> {
    let counted = rows(answer)?.pop();
    Ok(Response {
        found: counted.map_or(0, |row| number(&row, "n")),
        ..Response::default()
    })
}

fn updated(answer: Document) -> Result<Response, DriverError> {
    let answer = written(answer)?;
    let upserted = answer.get_array("upserted");
    Ok(Response {
        found: number(&answer, "n"),
        changed: number(&answer, "nModified"),
        is_inserted: upserted.is_ok_and(|upserted| !upserted.is_empty()),
        document: None,
    })
}

fn changed(mut answer: Document) -> Result<Response, DriverError> {
    let document = match answer.remove("value") {
        Some(Bson::Document(changed)) => Some(changed),
        _ => None,
    };
    Ok(Response {
        document,
        ..Response::default()
    })
}

fn deleted(answer: Document) -> Result<Response, DriverError> {
    Ok(Response {
        found: number(&written(answer)?, "n"),
        ..Response::default()
    })
}

/// An error if the answer to the insertion of many documents holds one.
fn inserted(answer: Document) -> Result<Response, DriverError> {
    if answer.contains_key("writeErrors") || answer.contains_key("writeConcernError") {
        return Err(ErrorKind::InsertMany(value(answer.into())?).into());
    }
    Ok(Response::default())
}

/// The answer to a write of one statement, which is an error if it holds one.
fn written(mut answer: Document) -> Result<Document, DriverError> {
    if let Some(Bson::Array(mut refused)) = answer.remove("writeErrors") {
        let error = value(refused.remove(0))?;
        return Err(ErrorKind::Write(WriteFailure::WriteError(error)).into());
    }
    match answer.remove("writeConcernError") {
        Some(error) => {
            let error = value(error)?;
            Err(ErrorKind::Write(WriteFailure::WriteConcernError(error)).into())
        }
        None => Ok(answer),
    }
}

/// All rows of an answer: the simulated server keeps no cursors.
fn rows(mut answer: Document) -> Result<Vec<Document>, DriverError> {
    let rows = answer.remove("rows");
    rows.map_or_else(|| Ok(Vec::new()), value)
}

fn number(answer: &Document, name: &str) -> u64 {
    u64::from(answer.get_i32(name).unwrap_or(0).unsigned_abs())
}

fn raw(document: &Document) -> Result<RawDocumentBuf, DriverError> {
    Ok(RawDocumentBuf::try_from(document)?)
}

fn bson(value: &impl Serialize) -> Bson {
    value.serialize(Serializer::new()).expect("a value")
}

fn value<T: DeserializeOwned>(value: Bson) -> Result<T, DriverError> {
    let read = T::deserialize(Deserializer::new(value));
    read.map_err(|error| DriverError::custom(error.to_string()))
}

/// A change stream, each batch of which is a command that repeats its position.
struct ChangeStream {
    driver: Driver,
    of: Collection<Document>,
    wanted: Vec<Document>,
    /// `None` before it is open.
    reached: Option<ResumeToken>,
    batch: VecDeque<Event>,
}

/// How long the server waits for an event.
const EVENT_PAUSE: Duration = Duration::from_millis(100);

impl ChangeStream {
    async fn open(mut self) -> Result<Self, DriverError> {
        if self.reached.is_none() {
            self.reached = Some(self.changes().await?.0);
        }
        Ok(self)
    }

    /// The events after the position, and the position after them.
    async fn changes(&self) -> Result<(ResumeToken, VecDeque<Event>), DriverError> {
        let after = self.reached.as_ref().map(bson).unwrap_or(Bson::Null);
        let wanted = doc! { "$or": self.wanted.clone() };
        let command = doc! { "changes": self.of.name(), "after": after, "filter": wanted };
        let driver = self.driver.clone();
        let mut answer = (driver.send_for(self.of.clone(), None, command, true)).await?;
        let reached = value(answer.remove("token").unwrap_or(Bson::Null))?;
        let events = rows(answer)?.into_iter().map(Event::read);
        Ok((reached, events.collect::<Result<_, _>>()?))
    }

    async fn next(&mut self) -> Result<Option<Event>, DriverError> {
        if self.batch.is_empty() {
            sleep(EVENT_PAUSE).await;
            let reached;
            (reached, self.batch) = self.changes().await?;
            if self.batch.is_empty() {
                self.reached = Some(reached);
            }
        }
        let event = self.batch.pop_front();
        if let Some(event) = &event {
            self.reached = Some(event.token.clone());
        }
        Ok(event)
    }
}

impl EventStream for ChangeStream {
    fn next_if_any(&mut self) -> BoxFuture<'_, Result<Option<Event>, DriverError>> {
        self.next().boxed()
    }

    fn resume_token(&self) -> Option<ResumeToken> {
        self.reached.clone()
    }

    fn is_alive(&self) -> bool {
        true
    }
}

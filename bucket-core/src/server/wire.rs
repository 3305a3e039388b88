//! The driver's calls, which no other file names.
//!
//! Requests are values, so that the simulation of the engine (`tests/simulation`) can answer them
//! in place of a server: with the feature `__simulated`, which that crate alone switches on, they
//! go to what its thread has installed (`server/wire/simulated.rs`). Sessions are the driver's own,
//! which need no server until they send something.

mod cursor;
mod event;
#[cfg(feature = "__simulated")]
pub mod simulated;

/// Counts for the simulation that the runtime comes here.
#[cfg(feature = "__simulated")]
#[doc(hidden)]
#[macro_export]
macro_rules! reached {
    ($($row:tt)+) => {
        $crate::server::wire::simulated::reach(format!($($row)+))
    };
}

/// Counts for the simulation that the runtime comes here: a program has nothing of it.
#[cfg(not(feature = "__simulated"))]
#[doc(hidden)]
#[macro_export]
macro_rules! reached {
    ($($row:tt)+) => {
        if false {
            _ = format_args!($($row)+);
        }
    };
}

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession, Database, IndexModel,
    action::Action,
    bson::{Document, RawDocumentBuf, doc},
    change_stream::{ChangeStream, event::ResumeToken},
    error::Error as DriverError,
    options::{
        AggregateOptions, BulkWriteOptions, CreateCollectionOptions, FindOptions, Hint,
        ReadConcern, ReturnDocument, UpdateModifications, UpdateOneModel,
    },
    results::{UpdateResult, VerboseBulkWriteResult},
};
use serde::Serialize;

pub(in crate::server) use self::cursor::AnyCursor;
pub use self::event::{Event, Watched};
#[cfg(feature = "__simulated")]
use crate::server::wire::simulated::simulated;
use crate::{
    protocol::command::Update,
    server::{Server, call::Calls},
    value::element::raw,
};

/// A request that a cursor answers.
#[derive(Debug)]
pub enum ReadRequest {
    /// The documents that match.
    Find(Document, Box<FindOptions>),
    /// The results of a pipeline.
    Aggregate(Vec<Document>, Box<AggregateOptions>),
    /// The indexes of the collection.
    Indexes,
    /// The part of the database's list of collections that matches.
    Collections(Document),
}

/// A request with a single answer. A hint is the name of an index.
#[derive(Debug)]
pub enum Request<'r> {
    /// Counts the documents that match.
    Count(Document),
    /// Updates one document.
    Update(Update),
    /// Updates all documents that match.
    UpdateMany(Document, UpdateModifications, Option<&'static str>),
    /// Updates the document that matches by a pipeline, or deletes it if there is no pipeline. The
    /// answer has these fields of what it then is, or was.
    Change {
        /// Matches the document.
        filter: Document,
        /// Updates it.
        pipeline: Option<Vec<Document>>,
        /// The index that finds it.
        hint: Option<&'static str>,
        /// The fields of the answer.
        fields: Document,
    },
    /// Replaces the document that matches.
    Replace(Document, &'r Document),
    /// Inserts one document.
    InsertOne(Document),
    /// Inserts documents; if they are ordered, up to the first that is refused.
    Insert(&'r [RawDocumentBuf], bool),
    /// Deletes one document that matches.
    Delete(Document),
    /// Deletes all documents that match.
    DeleteMany(Document),
    /// Creates the collection.
    Create(Box<CreateCollectionOptions>),
    /// Creates indexes.
    CreateIndexes(Vec<IndexModel>),
    /// Drops the index of this name.
    DropIndex(&'r str),
    /// Runs a command, which the driver neither numbers nor repeats.
    Run(Database, RawDocumentBuf),
    /// Commits the transaction of the session.
    Commit,
    /// Aborts the transaction of the session.
    Abort,
}

/// The answer to a request.
#[derive(Debug, Default)]
pub struct Response {
    /// How many documents were counted, deleted, or found or inserted by an update.
    pub found: u64,
    /// How many documents an update changed.
    pub changed: u64,
    /// Whether an update inserted its document.
    pub is_inserted: bool,
    /// The fields of a changed document, or the answer to a command.
    pub document: Option<Document>,
}

impl From<UpdateResult> for Response {
    fn from(result: UpdateResult) -> Self {
        let is_inserted = result.upserted_id.is_some();
        Self {
            found: result.matched_count + u64::from(is_inserted),
            changed: result.modified_count,
            is_inserted,
            document: None,
        }
    }
}

// Boxed futures: rustc compiles the body of an async function in each crate that awaits it, and
// these hold the driver's code.
impl Server {
    /// Opens a cursor.
    pub(in crate::server) fn open<'c, 's: 'c>(
        &'c self,
        query: ReadRequest,
        session: Option<&'s mut ClientSession>,
    ) -> BoxFuture<'c, Result<AnyCursor<'s>, DriverError>> {
        Box::pin(async move {
            #[cfg(feature = "__simulated")]
            if let Some(simulated) = simulated() {
                let id = session.as_ref().map(|session| session.id().clone());
                let rows = self.ask(simulated.read(&self.collection, id, query));
                return Ok(AnyCursor::of_rows(rows.await?, session));
            }
            macro_rules! open {
                ($action:expr) => {
                    match session {
                        Some(session) => {
                            let cursor = self.ask($action.session(&mut *session)).await?;
                            AnyCursor::Session(cursor.with_type(), session)
                        }
                        None => AnyCursor::Plain(self.ask($action).await?.with_type()),
                    }
                };
            }
            let all = &self.collection;
            Ok(match query {
                ReadRequest::Find(filter, options) => {
                    open!(all.find(filter).with_options(*options))
                }
                ReadRequest::Aggregate(pipeline, options) => {
                    open!(all.aggregate(pipeline).with_options(*options))
                }
                ReadRequest::Indexes => open!(all.list_indexes()),
                // As documents: code that reads the driver's type for them was a sixth of this
                // crate's LLVM IR.
                ReadRequest::Collections(filter) => {
                    open!(self.database().list_collections().filter(filter))
                }
            })
        })
    }

    /// Sends a request, which the driver repeats once after a broken connection if it writes single
    /// documents.
    pub fn send<'c>(
        &'c self,
        request: Request<'c>,
        session: Option<&'c mut ClientSession>,
    ) -> BoxFuture<'c, Result<Response, DriverError>> {
        Box::pin(async move {
            #[cfg(feature = "__simulated")]
            if let Some(simulated) = simulated() {
                let id = session.map(|session| session.id().clone());
                return (self.ask(simulated.send(&self.collection, id, request))).await;
            }
            macro_rules! send {
                ($action:expr) => {
                    self.ask($action.optional(session, |action, session| action.session(session)))
                        .await?
                };
                ($action:expr, $hint:expr) => {{
                    let hint = $hint.map(|name| Hint::Name(name.to_owned()));
                    send!($action.optional(hint, |action, hint| action.hint(hint)))
                }};
            }
            let all = &self.collection;
            let mut response = Response::default();
            match request {
                Request::Count(filter) => response.found = send!(all.count_documents(filter)),
                Request::Update(update) => {
                    let action = all.update_one(update.filter, update.update);
                    response = send!(action.upsert(update.upsert), update.hint).into();
                }
                Request::UpdateMany(filter, update, hint) => {
                    response = send!(all.update_many(filter, update), hint).into();
                }
                Request::Change {
                    filter,
                    pipeline,
                    hint,
                    fields,
                } => {
                    response.document = match pipeline {
                        Some(pipeline) => {
                            let action = all.find_one_and_update(filter, pipeline);
                            let action = action.return_document(ReturnDocument::After);
                            send!(action.projection(fields), hint)
                        }
                        None => send!(all.find_one_and_delete(filter).projection(fields), hint),
                    };
                }
                Request::Replace(filter, document) => {
                    response = send!(all.replace_one(filter, document)).into();
                }
                Request::InsertOne(document) => drop(send!(all.insert_one(document))),
                Request::Insert(documents, ordered) => {
                    let all = all.clone_with_type::<RawDocumentBuf>();
                    send!(all.insert_many(documents).ordered(ordered));
                }
                Request::Delete(filter) => {
                    response.found = send!(all.delete_one(filter)).deleted_count
                }
                Request::DeleteMany(filter) => {
                    response.found = send!(all.delete_many(filter)).deleted_count;
                }
                Request::Create(options) => {
                    let database = self.database();
                    send!((database.create_collection(all.name())).with_options(*options));
                }
                Request::CreateIndexes(models) => drop(send!(all.create_indexes(models))),
                Request::DropIndex(name) => send!(all.drop_index(name)),
                Request::Run(database, command) => {
                    response.document = Some(send!(database.run_raw_command(command)));
                }
                Request::Commit => {
                    if let Some(session) = session {
                        self.ask(session.commit_transaction()).await?;
                    }
                }
                Request::Abort => {
                    if let Some(session) = session {
                        self.ask(session.abort_transaction()).await?;
                    }
                }
            }
            Ok(response)
        })
    }

    /// Runs a command, which the driver neither numbers nor repeats.
    pub(in crate::server) async fn run(
        &self,
        database: Database,
        command: &impl Serialize,
        session: Option<&mut ClientSession>,
    ) -> Result<Document, DriverError> {
        // Its parts are BSON already: only a length beyond 32 bits can fail.
        let command = raw(command).map_err(|error| DriverError::custom(error.to_string()))?;
        let response = self.send(Request::Run(database, command), session);
        Ok(response.await?.document.unwrap_or_default())
    }

    /// Sends updates as the driver's `bulkWrite`, whose result tells of each if it is asked to.
    pub(in crate::server) fn send_bulk(
        &self,
        updates: Vec<Update>,
        ordered: bool,
        tells_each: bool,
    ) -> BoxFuture<'_, Result<Option<VerboseBulkWriteResult>, DriverError>> {
        Box::pin(async move {
            let namespace = self.collection.namespace();
            let models = updates.into_iter().map(|update| {
                UpdateOneModel::builder()
                    .namespace(namespace.clone())
                    .filter(update.filter)
                    .update(update.update)
                    .hint(update.hint.map(Into::into))
                    .upsert(update.upsert)
                    .build()
            });
            let mut options = BulkWriteOptions::default();
            options.ordered = Some(ordered);
            options.write_concern = self.collection.write_concern().cloned();
            let action = self.collection.client().bulk_write(models);
            let action = action.with_options(options);
            Ok(match tells_each {
                true => Some(self.ask(action.verbose_results()).await?),
                false => self.ask(action).await.map(|_| None)?,
            })
        })
    }

    /// A session of our own.
    pub(in crate::server) async fn start_session(&self) -> Result<ClientSession, DriverError> {
        let client = self.collection.client();
        #[cfg(feature = "__simulated")]
        if let Some(simulated) = simulated() {
            return simulated.start_session(client.clone()).await;
        }
        client.start_session().await
    }

    /// Opens a change stream of the collection, or of its database, with the events that match one
    /// of these filters.
    pub(in crate::server) async fn open_events(
        &self,
        watched: &Watched,
        after: Option<ResumeToken>,
    ) -> Result<Box<dyn EventStream>, DriverError> {
        #[cfg(feature = "__simulated")]
        if let Some(simulated) = simulated() {
            let events = simulated.watch(self.collection.clone(), watched.wanted.clone(), after);
            return events.await;
        }
        let database = self.database();
        let action = match watched.is_of_database {
            true => database.watch(),
            false => self.collection.watch(),
        };
        let action = (action.pipeline([doc! { "$match": { "$or": &watched.wanted } }]))
            // Change streams allow no other read concern, whatever the handle has.
            .read_concern(ReadConcern::majority())
            .optional(after, |action, after| action.resume_after(after));
        Ok(Box::new(self.ask(action).await?.with_type::<Document>()))
    }
}

/// Begins a transaction, which sends nothing.
pub(in crate::server) async fn begin(
    session: &mut ClientSession,
    concern: Option<ReadConcern>,
) -> Result<(), DriverError> {
    #[cfg(feature = "__simulated")]
    if let Some(simulated) = simulated() {
        simulated.begin(session.id());
        return Ok(());
    }
    let action = session.start_transaction();
    let action = action.optional(concern, |action, concern| action.read_concern(concern));
    Calls::current().within(action.into_future()).await
}

/// Begins a transaction and aborts it without a command: nothing is sent, and the session's next
/// number is used up.
pub(in crate::server) async fn skip_number(session: &mut ClientSession) -> Result<(), DriverError> {
    let begin = session.start_transaction().into_future();
    Calls::current().within(begin).await?;
    session.abort_transaction().await?;
    #[cfg(feature = "__simulated")]
    if let Some(simulated) = simulated() {
        simulated.skip_number(session.id());
    }
    Ok(())
}

/// A change stream of the driver, or a simulated one.
pub trait EventStream: Send {
    /// The next event; `None` if there is none at the moment.
    fn next_if_any(&mut self) -> BoxFuture<'_, Result<Option<Event>, DriverError>>;

    /// The position that the stream has reached.
    fn resume_token(&self) -> Option<ResumeToken>;

    /// Whether there may be further events.
    fn is_alive(&self) -> bool;
}

impl EventStream for ChangeStream<Document> {
    fn next_if_any(&mut self) -> BoxFuture<'_, Result<Option<Event>, DriverError>> {
        Box::pin(async { self.next_if_any().await?.map(Event::read).transpose() })
    }

    fn resume_token(&self) -> Option<ResumeToken> {
        self.resume_token()
    }

    fn is_alive(&self) -> bool {
        self.is_alive()
    }
}

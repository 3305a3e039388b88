//! Commands of several statements.
//!
//! The driver sends one update per command, unless the server is 8.0 or later (`bulkWrite`). So
//! these commands are built here, and numbered; see [`numbers`](super::numbers).

use mongodb::{
    ClientSession, Database,
    bson::{Bson, Deserializer, Document, RawDocumentBuf},
    error::{Error as DriverError, ErrorKind, WriteConcernError, WriteError, WriteFailure},
    options::WriteConcern,
};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};

use super::Server;
use crate::{command::Update, element::raw, error::is_broken_off};

/// What became of the statements of a command, one by one. What follows a refusal in an ordered
/// command was not carried out, whatever stands here.
pub(crate) type Results = Vec<Result<(), DriverError>>;

impl Server {
    /// Carries out updates, each of which changes a document or is refused.
    ///
    /// One round trip. If the connection breaks and the deployment is a replica set, the command is
    /// sent once more, and the server carries out what it has not yet.
    pub(crate) async fn update_all(
        &self,
        updates: Vec<Update>,
        ordered: bool,
    ) -> Result<Results, DriverError> {
        let statements: Vec<_> = updates.into_iter().map(Update::into_statement).collect();
        self.carry_out(["update", "updates"], &statements, ordered)
            .await
    }

    /// Inserts documents. Round trips as [`update_all`](Self::update_all).
    pub(crate) async fn insert_all<D: Serialize + Sync>(
        &self,
        documents: &[D],
        ordered: bool,
    ) -> Result<Results, DriverError> {
        self.carry_out(["insert", "documents"], documents, ordered)
            .await
    }

    /// What became of the last update of this session, which was broken off; tells whether it found
    /// or made a document. If it has not, it is carried out now. `None` if the server cannot tell, as a
    /// standalone one.
    pub(super) async fn update_again(
        &self,
        update: Update,
        session: ClientSession,
    ) -> Result<Option<bool>, DriverError> {
        let statements = [update.into_statement()];
        let command = self.command(["update", "updates"], &statements, true);
        let db = self.db();
        let Some(reply) = self.numbers.send_again(&db, &command, session).await? else {
            return Ok(None);
        };
        let found = reply.n > 0;
        let result = results(reply, 1)?.pop();
        result.transpose().map(|_| Some(found))
    }

    async fn carry_out<S: Serialize + Sync>(
        &self,
        verb: [&'static str; 2],
        statements: &[S],
        ordered: bool,
    ) -> Result<Results, DriverError> {
        let command = self.command(verb, statements, ordered);
        let reply = self.numbers.send(&self.db(), &command).await?;
        results(reply, statements.len())
    }

    fn command<'c, S>(
        &'c self,
        [verb, list]: [&'static str; 2],
        statements: &'c [S],
        ordered: bool,
    ) -> Command<'c, S> {
        Command {
            verb,
            list,
            collection: self.collection.name(),
            statements,
            ordered,
            write_concern: self.collection.write_concern(),
        }
    }

    fn db(&self) -> Database {
        (self.collection.client()).database(&self.collection.namespace().db)
    }
}

/// An `update` or an `insert`.
pub(super) struct Command<'c, S> {
    verb: &'static str,
    list: &'static str,
    pub(super) collection: &'c str,
    statements: &'c [S],
    ordered: bool,
    write_concern: Option<&'c WriteConcern>,
}

impl<S: Serialize> Command<'_, S> {
    pub(super) fn numbered(&self, number: Option<i64>) -> Result<RawDocumentBuf, DriverError> {
        let command = raw(&Numbered(self, number));
        // Statements are BSON already: only a length beyond 32 bits can fail.
        command.map_err(|error| DriverError::custom(error.to_string()))
    }
}

struct Numbered<'c, S>(&'c Command<'c, S>, Option<i64>);

impl<S: Serialize> Serialize for Numbered<'_, S> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        let Self(command, number) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(command.verb, command.collection)?;
        map.serialize_entry(command.list, command.statements)?;
        map.serialize_entry("ordered", &command.ordered)?;
        if let Some(concern) = command.write_concern {
            map.serialize_entry("writeConcern", concern)?;
        }
        if let Some(number) = number {
            map.serialize_entry("txnNumber", number)?;
        }
        map.end()
    }
}

/// The server's answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// How many documents were found or made.
    #[serde(default)]
    n: i64,
    #[serde(default)]
    write_errors: Vec<Refused>,
    write_concern_error: Option<WriteConcernError>,
    #[serde(default)]
    pub(super) error_labels: Vec<String>,
}

#[derive(Deserialize)]
struct Refused {
    index: i64,
    #[serde(flatten)]
    error: WriteError,
}

impl Reply {
    /// Whether a statement was broken off, and may have been carried out.
    pub(super) fn is_broken_off(&self) -> bool {
        let is = |refused: &Refused| is_broken_off((refused.error.code, &refused.error.message));
        self.write_errors.iter().any(is)
    }

    pub(super) fn of(reply: Document) -> Result<Self, DriverError> {
        let reply = Self::deserialize(Deserializer::new(Bson::Document(reply)));
        reply.map_err(|error| DriverError::custom(error.to_string()))
    }
}

fn results(reply: Reply, statements: usize) -> Result<Results, DriverError> {
    // What was carried out may yet be lost if it is not where the write concern wants it.
    if let Some(error) = reply.write_concern_error {
        return Err(failure(WriteFailure::WriteConcernError(error)));
    }
    let mut refused = reply.write_errors.into_iter().peekable();
    let result = |at| match refused.next_if(|refused| usize::try_from(refused.index) == Ok(at)) {
        Some(refused) => Err(failure(WriteFailure::WriteError(refused.error))),
        None => Ok(()),
    };
    Ok((0..statements).map(result).collect())
}

fn failure(failure: WriteFailure) -> DriverError {
    ErrorKind::Write(failure).into()
}

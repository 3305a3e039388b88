//! The driver as far as it numbers writes and repeats commands.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bucket_runtime::{
    bson::{Bson, Document, doc},
    mongodb::error::{
        Error as DriverError, ErrorKind, TRANSIENT_TRANSACTION_ERROR,
        UNKNOWN_TRANSACTION_COMMIT_RESULT,
    },
};
use futures_util::{FutureExt, future::BoxFuture};

use crate::{
    filter::number,
    network::{Network, labelled},
    world::statements,
};

/// The reads that the driver repeats.
const READS: [&str; 5] = [
    "find",
    "aggregate",
    "changes",
    "listIndexes",
    "listCollections",
];

/// A command on its way to the simulated server.
pub(crate) struct Sent {
    /// The name of the process, which is that of its database.
    pub(crate) handle: String,
    /// The id of its session.
    pub(crate) session: Option<Document>,
    pub(crate) command: Document,
    /// Whether an action of the driver sends it, which numbers a write and repeats it after a broken connection.
    pub(crate) is_action: bool,
}

/// The drivers of all handles, which share a network.
#[derive(Clone)]
pub(crate) struct Driver {
    pub(crate) network: Network,
    sessions: Arc<Mutex<Sessions>>,
}

#[derive(Default)]
struct Sessions {
    numbers: HashMap<String, i64>,
    /// Those under which a connection broke.
    dirty: HashSet<String>,
    /// The transactions, each with whether it has sent anything.
    transactions: HashMap<String, bool>,
    /// Short names for the trace.
    names: HashMap<Vec<u8>, String>,
}

impl Sessions {
    fn name(&mut self, id: &Document) -> String {
        let bytes = match id.get("id") {
            Some(Bson::Binary(id)) => &*id.bytes,
            Some(Bson::String(id)) => id.as_bytes(),
            other => panic!("{other:?} is no session"),
        };
        if let Some(name) = self.names.get(bytes) {
            return name.clone();
        }
        let name = format!("s{}", self.names.len());
        self.names.insert(bytes.to_vec(), name.clone());
        name
    }
}

impl Driver {
    pub(crate) fn new(network: Network) -> Self {
        Self {
            network,
            sessions: Arc::default(),
        }
    }

    /// Sends a command before the faults begin.
    pub(crate) async fn set_up(&self, command: Document) {
        let sent = self.deliver(Self::foreign(command)).await;
        sent.expect("an answer");
    }

    /// A command of another program's.
    pub(crate) fn foreign(command: Document) -> Sent {
        Sent {
            handle: "another program".to_owned(),
            session: Some(doc! { "id": "another program" }),
            command,
            is_action: true,
        }
    }

    /// Answers a command, or loses it.
    pub(crate) fn deliver(&self, sent: Sent) -> BoxFuture<'static, Result<Document, DriverError>> {
        self.clone().carry(sent).boxed()
    }

    /// Uses up a number of this session without a command.
    pub(crate) fn count_number(&self, session: &Document) {
        let name = self.sessions().name(session);
        self.number(&name);
    }

    /// Begins a transaction with the session's next command.
    pub(crate) fn begin_transaction(&self, session: &Document) {
        let name = self.sessions().name(session);
        self.number(&name);
        self.sessions().transactions.insert(name, false);
    }

    /// Whether the driver would throw this session away, since a connection broke under it.
    pub(crate) fn is_dirty(&self, session: &Document) -> bool {
        let mut sessions = self.sessions();
        let name = sessions.name(session);
        // The driver ends the transaction of a session that is dropped.
        sessions.dirty.contains(&name) || sessions.transactions.contains_key(&name)
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self, session: &str) -> i64 {
        let mut sessions = self.sessions();
        let number = sessions.numbers.entry(session.to_owned()).or_default();
        *number += 1;
        *number
    }

    /// Sends the command of an action twice at most, and any other one once.
    async fn carry(self, sent: Sent) -> Result<Document, DriverError> {
        let Sent {
            handle,
            session,
            mut command,
            is_action,
        } = sent;
        if is_of_transfer(&command) {
            name_no_process(&mut command);
        }
        let session = session.map(|id| self.sessions().name(&id));
        let session = session.unwrap_or_default();
        if self.is_in_transaction(&session) {
            return self.carry_in_transaction(handle, session, command).await;
        }
        let statements = statements(&command);
        let is_of_many = |statement: &&Document| {
            let limit = statement.get("limit").and_then(number);
            statement.contains_key("multi") || limit == Some(0)
        };
        let is_numbered = !statements.is_empty() && !statements.iter().any(is_of_many);
        let repeats = is_numbered || READS.iter().any(|read| command.contains_key(*read));
        if is_action && is_numbered {
            command.insert("txnNumber", self.number(&session));
        }
        self.send_twice(&handle, &session, &command, is_action && repeats)
            .await
    }

    fn is_in_transaction(&self, session: &str) -> bool {
        self.sessions().transactions.contains_key(session)
    }

    /// Sends a command of a transaction once, and the command that ends it twice at most. What such a command does
    /// not tell is said by a label.
    async fn carry_in_transaction(
        self,
        handle: String,
        session: String,
        mut command: Document,
    ) -> Result<Document, DriverError> {
        let [commits, aborts] =
            ["commitTransaction", "abortTransaction"].map(|name| command.contains_key(name));
        let (number, has_begun) = {
            let mut sessions = self.sessions();
            let number = sessions.numbers.get(&session).copied().unwrap_or_default();
            let has_begun = match commits || aborts {
                true => sessions.transactions.get(&session).copied(),
                false => sessions.transactions.insert(session.clone(), true),
            };
            if aborts {
                sessions.transactions.remove(&session);
            }
            (number, has_begun == Some(true))
        };
        if (commits || aborts) && !has_begun {
            return Ok(Document::new());
        }
        command.insert("txnNumber", number);
        command.insert("autocommit", false);
        if !has_begun {
            command.insert("startTransaction", true);
        }
        let sent = self
            .send_twice(&handle, &session, &command, commits || aborts)
            .await;
        if commits && sent.is_ok() {
            self.sessions().transactions.remove(&session);
        }
        let label = match commits {
            true => UNKNOWN_TRANSACTION_COMMIT_RESULT,
            false => TRANSIENT_TRANSACTION_ERROR,
        };
        sent.map_err(|error| match is_broken(&error) {
            true => labelled((0, "the connection broke".to_owned()), label),
            false => error,
        })
    }

    /// Sends a command, and once more if the connection breaks and it is one that the driver repeats.
    async fn send_twice(
        &self,
        handle: &str,
        session: &str,
        command: &Document,
        repeats: bool,
    ) -> Result<Document, DriverError> {
        let sent = self.send_once(handle, session, command).await;
        match repeats && sent.as_ref().is_err_and(is_broken) {
            true => self.send_once(handle, session, command).await,
            false => sent,
        }
    }

    async fn send_once(
        &self,
        handle: &str,
        session: &str,
        command: &Document,
    ) -> Result<Document, DriverError> {
        let answer = self.network.deliver(handle, session, command).await;
        if answer.as_ref().is_err_and(is_broken) {
            self.sessions().dirty.insert(session.to_owned());
        }
        answer
    }
}

/// All processes have one record of an import or a migration. It names their databases, which are different ones here.
fn name_no_process(part: &mut Document) {
    for name in ["from", "to"] {
        if let Ok(text) = part.get_str(name)
            && let Some((_, collection)) = text.rsplit_once('.')
        {
            part.insert(name, collection.to_owned());
        }
    }
    part.iter_mut()
        .for_each(|(_, value)| name_no_process_in(value));
}

fn is_of_transfer(command: &Document) -> bool {
    let collection = command.values().next().and_then(Bson::as_str);
    collection == Some("bucket_progress") || command.contains_key("changes")
}

fn name_no_process_in(value: &mut Bson) {
    match value {
        Bson::Document(part) => name_no_process(part),
        Bson::Array(parts) => parts.iter_mut().for_each(name_no_process_in),
        _ => {}
    }
}

fn is_broken(error: &DriverError) -> bool {
    matches!(*error.kind, ErrorKind::Io(_))
}

//! Commands of several updates that become retryable here, by a transaction number.
//!
//! Only for replica sets; a `mongos` never sees such a command.
//!
//! The server remembers which statements of a session's latest number it has carried out; when the
//! command arrives again, it carries out the others (MongoDB manual, "Retryable Writes"; seen on
//! server
//! 6.0 and 8.2), and its answer names those that it had carried out before. The driver retries its own commands this
//! way, but not whole commands that it is given.

mod command;

use mongodb::{
    ClientSession,
    bson::{Document, doc},
    error::{Error as DriverError, ErrorKind},
};

use self::command::Command;
pub(in crate::server) use self::command::Reply;
use crate::{
    error::{Code, is_code, is_killed, is_repeatable, maybe_stored, refusal},
    protocol::command::Update,
    server::{
        Server, call,
        retryable_session::RetryableSession,
        wire::{Response, skip_number},
        write::results::FoundResults,
    },
};

/// How many numbers to skip before our first one. A write of the driver whose future was dropped
/// may still be on its way to the server, with a number that the server does not know yet; it may
/// be the first command of its session.
const SKIPPED_NUMBERS: i64 = 100;

/// How often a command is sent again at most because the server ended its plan.
const MAX_BROKEN_OFF: u32 = 10;

impl Server {
    /// A session for one command, where our own numbers make it retryable.
    pub(in crate::server) async fn retryable_session(
        &self,
    ) -> Result<Option<RetryableSession>, DriverError> {
        if !self.deployment().await?.takes_our_numbers() {
            return Ok(None);
        }
        let waiting = self.retryable_sessions.lock().pop();
        match waiting {
            Some(retryable) => Ok(Some(retryable)),
            None => RetryableSession::new(self).await,
        }
    }

    /// Sends the last update of this session, which was interrupted, again under its number. If it
    /// was not carried out before, it is now. `None` if the driver gave it no number.
    pub(in crate::server) async fn update_again(
        &self,
        update: Update,
        session: ClientSession,
    ) -> Result<Option<Response>, DriverError> {
        let statements = [update.into_statement()];
        let retryable = RetryableSession::with_latest_number(session, self).await?;
        let Some(mut retryable) = retryable.filter(|retryable| retryable.number > 0) else {
            return Ok(None);
        };
        let reply = retryable.send(self, &statements, true).await?;
        let found = reply.n.unsigned_abs();
        reply.results(1)?.pop().transpose()?;
        Ok(Some(Response {
            found,
            ..Response::default()
        }))
    }
}

impl RetryableSession {
    /// Carries out updates as one command, which is sent at most twice, as the driver does. To tell
    /// which of them found a document, where some found none, it is sent again under its number:
    /// the server then names those that it had carried out.
    pub(in crate::server) async fn update(
        mut self,
        server: &Server,
        updates: Vec<Update>,
        ordered: bool,
        tells_found: bool,
    ) -> Result<FoundResults, DriverError> {
        let statements: Vec<_> = updates.into_iter().map(Update::into_statement).collect();
        self.advance().await?;
        let mut reply = self.send(server, &statements, ordered).await?;
        // A statement that was not carried out at first may be later, but each only once.
        for _ in 0..=statements.len() {
            let found = match tells_found {
                true => reply.found(statements.len()),
                false => Some(vec![false; statements.len()]),
            };
            if let Some(found) = found {
                server.retryable_sessions.lock().push(self);
                let results = reply.results(statements.len())?.into_iter().zip(found);
                let results = results.map(|(result, found)| result.map(|()| found));
                return Ok(results.collect());
            }
            let again = self.send(server, &statements, ordered).await;
            // The first attempt was carried out.
            reply = again.map_err(|_| interrupted())?;
        }
        Err(interrupted())
    }

    /// A session whose latest number is known. The driver may have used it before and does not say
    /// how far it has counted, so the server is asked; `None` if its answer does not say either.
    async fn new(server: &Server) -> Result<Option<Self>, DriverError> {
        let session = server.start_session().await?;
        let mut retryable = Self::with_latest_number(session, server).await?;
        if let Some(retryable) = &mut retryable {
            for _ in 0..SKIPPED_NUMBERS {
                retryable.advance().await?;
            }
        }
        Ok(retryable)
    }

    /// The session with the latest number that the server has seen of it, or with 0.
    ///
    /// The server gets an update that matches nothing, with a number that the driver never uses. It
    /// is below all numbers of a used session, so the server refuses it with a message that
    /// contains the latest number.
    async fn with_latest_number(
        mut session: ClientSession,
        server: &Server,
    ) -> Result<Option<Self>, DriverError> {
        let mut repeated = false;
        loop {
            let nothing = doc! {
                "update": server.collection.name(),
                "updates": [{ "q": { "_id": { "$in": [] } }, "u": { "$set": { "_": 0 } } }],
                "txnNumber": 0_i64,
            };
            let asked = server.run(server.database(), &nothing, Some(&mut session));
            let number = match asked.await {
                Ok(_) => 0,
                Err(error) => match latest_number(&error) {
                    Some(number) => number,
                    None if !repeated && is_repeatable(&error) => {
                        call::again();
                        repeated = true;
                        continue;
                    }
                    None if is_code(&error, Code::TransactionTooOld) => return Ok(None),
                    None => return Err(error),
                },
            };
            return Ok(Some(Self { session, number }));
        }
    }

    /// Sends statements under the number of the session. After an error the driver gets the session
    /// back; it does not use it again if the connection broke.
    async fn send(
        &mut self,
        server: &Server,
        statements: &[Document],
        ordered: bool,
    ) -> Result<Reply, DriverError> {
        let command = Command {
            collection: server.collection.name(),
            statements,
            ordered,
            write_concern: server.collection.write_concern(),
            txn_number: self.number,
        };
        let mut first = None;
        let mut broken_off = 0;
        loop {
            // Serialised again for each attempt: the command is long, and second attempts are rare.
            let sent = server.run(server.database(), &command, Some(&mut self.session));
            match (sent.await.and_then(Reply::read), first.take()) {
                (Err(error), None) if is_repeatable(&error) => {
                    first = Some(error);
                    call::again();
                }
                (Ok(reply), None) if reply.is_interrupted() => {
                    first = Some(interrupted());
                    call::again();
                }
                // The number tells which statements were carried out. The others are, or report
                // that the index is missing.
                (sent, before) if is_broken_off(&sent) && broken_off < MAX_BROKEN_OFF => {
                    broken_off += 1;
                    call::again();
                    first = before;
                }
                (Ok(reply), _) => return Ok(reply),
                // A refusal of the repeat says nothing about the first attempt, which may be
                // stored.
                (Err(error), Some(before)) if !maybe_stored(&error, false) => return Err(before),
                (Err(error), _) => return Err(error),
            }
        }
    }

    /// Advances both numbers.
    async fn advance(&mut self) -> Result<(), DriverError> {
        skip_number(&mut self.session).await?;
        self.number += 1;
        Ok(())
    }
}

/// An error after which the statements of the command may be carried out.
fn interrupted() -> DriverError {
    ErrorKind::from(std::io::ErrorKind::Interrupted).into()
}

/// Whether the server ended the plan of the command or of one of its statements.
fn is_broken_off(sent: &Result<Reply, DriverError>) -> bool {
    match sent {
        Ok(reply) => reply.is_broken_off(),
        Err(error) => is_killed(error),
    }
}

/// The latest number of a session, which follows the last `txnNumber` in the message of a refusal.
fn latest_number(error: &DriverError) -> Option<i64> {
    let (Code::TransactionTooOld, message) = refusal(error)? else {
        return None;
    };
    let (_, named) = message.rsplit_once("txnNumber")?;
    let digits = named.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

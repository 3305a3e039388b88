//! Numbers that make a command repeatable.
//!
//! The server remembers which statements of a session's latest number it has carried out; when it
//! is sent the command again, it carries out the others (MongoDB manual, "Retryable Writes"; seen
//! on server 6.0). The driver does so for its own commands, but not for those it is given whole.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use mongodb::{
    ClientSession, Database,
    bson::doc,
    error::{Error as DriverError, ErrorKind},
};
use serde::Serialize;

use super::many::{Command, Reply};
use crate::error::maybe_stored;

/// TransactionTooOld: the session has seen a number that is not below.
const TOO_OLD: i32 = 225;

/// IllegalOperation, which is how a standalone server answers to a number.
const ILLEGAL: i32 = 20;

/// Sessions of our own that wait for their next command.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    waiting: Mutex<Vec<Numbered>>,
    /// Whether the deployment turned out to know no numbers.
    unusable: AtomicBool,
}

/// A session, and the number of its latest command.
///
/// The driver counts the numbers of a session, too, and goes on with its own count when the session
/// is ours no longer. So its count must never be below ours: both advance together, and ours begins
/// at zero.
#[derive(Debug)]
struct Numbered {
    session: ClientSession,
    number: i64,
}

impl Numbers {
    /// Sends a command until it is answered, but at most twice, as the driver does.
    pub(super) async fn send<S: Serialize>(
        &self,
        db: &Database,
        command: &Command<'_, S>,
    ) -> Result<Reply, DriverError> {
        let Some(mut numbered) = self.next(db, command.collection).await? else {
            // Nothing is repeated there, as with the driver.
            let raw = command.numbered(None)?;
            return db.run_raw_command(raw).await.and_then(Reply::of);
        };
        let raw = command.numbered(Some(numbered.number))?;
        let mut first = None;
        loop {
            let sent = db.run_raw_command(raw.clone());
            let sent = sent.session(&mut numbered.session).await;
            match (sent.and_then(Reply::of), first.take()) {
                (Err(error), None) if is_repeatable(&error) => {
                    first = Some(error);
                }
                (Ok(reply), None) if is_interrupted(&reply) => {
                    first = Some(ErrorKind::from(std::io::ErrorKind::Interrupted).into());
                }
                (Ok(reply), _) => {
                    self.put_back(numbered);
                    return Ok(reply);
                }
                // The session is left to the driver, which does not use it again if the connection
                // broke. What may have been stored by the first try may still have been.
                (Err(error), Some(before)) if !maybe_stored(&error) => return Err(before),
                (Err(error), _) => return Err(error),
            }
        }
    }

    /// A session with its next number; `None` if the deployment knows no numbers, as a standalone
    /// server.
    async fn next(&self, db: &Database, collection: &str) -> Result<Option<Numbered>, DriverError> {
        if self.0.unusable.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let waiting = self.waiting().pop();
        let numbered = match waiting {
            Some(numbered) => Some(numbered),
            None => Numbered::new(db, collection).await?,
        };
        if let Some(mut numbered) = numbered
            && numbered.advance(1).await?
        {
            return Ok(Some(numbered));
        }
        self.0.unusable.store(true, Ordering::Relaxed);
        Ok(None)
    }

    fn put_back(&self, numbered: Numbered) {
        self.waiting().push(numbered);
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Numbered>> {
        (self.0.waiting.lock()).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Numbered {
    /// A session whose number is known to be the latest, if the deployment knows numbers. The
    /// driver cannot tell: it takes a standalone server for one that does.
    ///
    /// The driver may have used the session before, and does not tell how far it has counted. A
    /// number below that is refused, but the same number would be taken for a repetition. So it is
    /// found out with an update that matches nothing, by doubling, and left behind. The latest
    /// number itself may be answered to, or refused if it was a delete's or a transaction's (40638,
    /// InvalidOptions; seen on server 6.0); the next one is free then.
    async fn new(db: &Database, collection: &str) -> Result<Option<Self>, DriverError> {
        let mut numbered = Self {
            session: db.client().start_session().await?,
            number: 0,
        };
        let (mut step, mut repeated, mut at_latest) = (1, false, false);
        while numbered.advance(step).await? {
            let nothing = doc! {
                "update": collection,
                "updates": [{ "q": { "_id": { "$in": [] } }, "u": { "$set": { "_": 0 } } }],
                "txnNumber": numbered.number,
            };
            match db.run_command(nothing).session(&mut numbered.session).await {
                Ok(_) => return Ok(Some(numbered)),
                Err(error) if code(&error) == Some(ILLEGAL) => return Ok(None),
                Err(error) if code(&error) == Some(TOO_OLD) => step = numbered.number,
                Err(error) if !repeated && is_repeatable(&error) => (step, repeated) = (1, true),
                Err(error) if !at_latest && code(&error).is_some() => (step, at_latest) = (1, true),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Advances both numbers; tells whether the driver does so at all.
    ///
    /// A transaction that is begun and given up without a command is never sent, and what it leaves
    /// behind is the next number.
    async fn advance(&mut self, by: i64) -> Result<bool, DriverError> {
        for _ in 0..by {
            match self.session.start_transaction().await {
                Ok(()) => self.session.abort_transaction().await?,
                Err(error) if matches!(*error.kind, ErrorKind::Transaction { .. }) => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
            self.number += 1;
        }
        Ok(true)
    }
}

fn code(error: &DriverError) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(error) => Some(error.code),
        _ => None,
    }
}

/// The errors after which the driver repeats a write of its own.
fn is_repeatable(error: &DriverError) -> bool {
    matches!(
        *error.kind,
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. }
    ) || error.contains_label("RetryableWriteError")
}

/// Whether the server answered while it gave up being the primary.
fn is_interrupted(reply: &Reply) -> bool {
    (reply.error_labels.iter()).any(|label| label == "RetryableWriteError")
}

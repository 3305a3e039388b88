//! Numbers that make a command repeatable.
//!
//! The server remembers which statements of a session's latest number it has carried out; when it
//! is sent the command again, it carries out the others (MongoDB manual, "Retryable Writes"; seen
//! on server 6.0). The driver does so for its own commands, but not for those it is given whole.

use std::sync::{Arc, Mutex, PoisonError};

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

/// Sessions of our own that wait for their next command.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers(Arc<Mutex<Vec<Numbered>>>);

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
        let mut numbered = match self.take() {
            Some(numbered) => numbered,
            None => Numbered::new(db, command.collection).await?,
        };
        // A standalone server knows no numbers; nothing is repeated there, as with the driver.
        let number = (numbered.advance(1).await?).then_some(numbered.number);
        let raw = command.numbered(number)?;
        let mut first = None;
        loop {
            let sent = db.run_raw_command(raw.clone());
            let sent = sent.session(&mut numbered.session).await;
            match (sent.and_then(Reply::of), first.take()) {
                (Err(error), None) if number.is_some() && is_repeatable(&error) => {
                    first = Some(error);
                }
                (Ok(reply), None) if number.is_some() && is_interrupted(&reply) => {
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

    fn take(&self) -> Option<Numbered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put_back(&self, numbered: Numbered) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(numbered);
    }
}

impl Numbered {
    /// A session whose number is known to be the latest.
    ///
    /// The driver may have used the session before, and does not tell how far it has counted. A
    /// number below that is refused, but the same number would be taken for a repetition. So it is
    /// found out with an update that matches nothing, by doubling, and left behind.
    async fn new(db: &Database, collection: &str) -> Result<Self, DriverError> {
        let mut numbered = Self {
            session: db.client().start_session().await?,
            number: 0,
        };
        let (mut step, mut repeated) = (1, false);
        while numbered.advance(step).await? {
            let nothing = doc! {
                "update": collection,
                "updates": [{ "q": { "_id": { "$in": [] } }, "u": { "$set": { "_": 0 } } }],
                "txnNumber": numbered.number,
            };
            match db.run_command(nothing).session(&mut numbered.session).await {
                Ok(_) => break,
                Err(error) if is_too_old(&error) => step = numbered.number,
                Err(error) if !repeated && is_repeatable(&error) => (step, repeated) = (1, true),
                Err(error) => return Err(error),
            }
        }
        Ok(numbered)
    }

    /// Advances both numbers; tells whether the deployment knows numbers at all.
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

fn is_too_old(error: &DriverError) -> bool {
    matches!(&*error.kind, ErrorKind::Command(error) if error.code == TOO_OLD)
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

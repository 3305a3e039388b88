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

/// How many numbers are left out before the first of ours. A write of the driver's whose future was
/// dropped may still be on its way to the server, with a number that the server does not know yet.
const GAP: i64 = 100;

/// How often a command is sent again at most whose index is dropped, made, and dropped again.
const BROKEN_OFF: u32 = 10;

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
/// with what the server says.
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
        // After an error the session is left to the driver, which does not use it again if the
        // connection broke.
        let reply = numbered.send(db, command).await?;
        self.put_back(numbered);
        Ok(reply)
    }

    /// Sends the last command of this session again, a write that the driver has numbered; `None` if
    /// it has not.
    pub(super) async fn send_again<S: Serialize>(
        &self,
        db: &Database,
        command: &Command<'_, S>,
        session: ClientSession,
    ) -> Result<Option<Reply>, DriverError> {
        match Numbered::at_latest(session, db, command.collection).await? {
            Some(mut numbered) if numbered.number > 0 => numbered.send(db, command).await.map(Some),
            _ => Ok(None),
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
            && numbered.advance().await?
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
    /// A session whose latest number is known, if the deployment knows numbers. The driver cannot
    /// tell: it takes a standalone server for one that does.
    ///
    /// The driver may have used the session before, and does not tell how far it has counted. So
    /// the server is asked, with an update that matches nothing and has a number that the driver
    /// never uses: below all of a session that was used, it is refused in a message that names the
    /// latest. Without that name the handle does without numbers.
    async fn new(db: &Database, collection: &str) -> Result<Option<Self>, DriverError> {
        let session = db.client().start_session().await?;
        let Some(mut numbered) = Self::at_latest(session, db, collection).await? else {
            return Ok(None);
        };
        for _ in 0..if numbered.number > 0 { GAP } else { 0 } {
            numbered.advance().await?;
        }
        Ok(Some(numbered))
    }

    /// The session with the latest number that the server has seen of it, or with 0.
    async fn at_latest(
        mut session: ClientSession,
        db: &Database,
        collection: &str,
    ) -> Result<Option<Self>, DriverError> {
        let mut repeated = false;
        loop {
            let nothing = doc! {
                "update": collection,
                "updates": [{ "q": { "_id": { "$in": [] } }, "u": { "$set": { "_": 0 } } }],
                "txnNumber": 0_i64,
            };
            let number = match db.run_command(nothing).session(&mut session).await {
                Ok(_) => Some(0),
                Err(error) if is_code(&error, ILLEGAL) => None,
                Err(error) if is_code(&error, TOO_OLD) => latest(&error),
                Err(error) if !repeated && is_repeatable(&error) => {
                    repeated = true;
                    continue;
                }
                Err(error) => return Err(error),
            };
            return Ok(number.map(|number| Self { session, number }));
        }
    }

    async fn send<S: Serialize>(
        &mut self,
        db: &Database,
        command: &Command<'_, S>,
    ) -> Result<Reply, DriverError> {
        let mut first = None;
        let mut broken_off = 0;
        loop {
            // Written again if it is sent again, which is rarer than that it is long.
            let raw = command.numbered(Some(self.number))?;
            let sent = db.run_raw_command(raw).session(&mut self.session).await;
            match (sent.and_then(Reply::of), first.take()) {
                (Err(error), None) if is_repeatable(&error) => {
                    first = Some(error);
                }
                (Ok(reply), None) if is_interrupted(&reply) => {
                    first = Some(ErrorKind::from(std::io::ErrorKind::Interrupted).into());
                }
                // Those that were not carried out will say that the index is missing.
                (Ok(reply), before) if reply.is_broken_off() && broken_off < BROKEN_OFF => {
                    broken_off += 1;
                    first = before;
                }
                (Ok(reply), _) => return Ok(reply),
                // What may have been stored by the first try may still have been.
                (Err(error), Some(before)) if !maybe_stored(&error) => return Err(before),
                (Err(error), _) => return Err(error),
            }
        }
    }

    /// Advances both numbers; tells whether the driver does so at all.
    ///
    /// A transaction that is begun and given up without a command is never sent, and what it leaves
    /// behind is the next number.
    async fn advance(&mut self) -> Result<bool, DriverError> {
        match self.session.start_transaction().await {
            Ok(()) => self.session.abort_transaction().await?,
            Err(error) if matches!(*error.kind, ErrorKind::Transaction { .. }) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        self.number += 1;
        Ok(true)
    }
}

fn is_code(error: &DriverError, code: i32) -> bool {
    matches!(&*error.kind, ErrorKind::Command(error) if error.code == code)
}

/// The latest number of a session, which stands behind the last `txnNumber` in the message.
fn latest(error: &DriverError) -> Option<i64> {
    let ErrorKind::Command(error) = &*error.kind else {
        return None;
    };
    let (_, named) = error.message.rsplit_once("txnNumber")?;
    let digits = named.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
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

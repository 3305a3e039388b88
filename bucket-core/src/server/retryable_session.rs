//! Sessions of our own, whose commands get their numbers here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mongodb::ClientSession;

/// Our own sessions that wait for their next command.
#[derive(Debug, Clone, Default)]
pub(in crate::server) struct RetryableSessions(Arc<Mutex<Vec<RetryableSession>>>);

/// A session, and the number of its latest command.
///
/// The driver counts a session's numbers, too, and continues with its own count once we give the
/// session back. So its count must never be below ours: both advance together, and ours starts at
/// the number that the server reports.
#[derive(Debug)]
pub(in crate::server) struct RetryableSession {
    pub(in crate::server) session: ClientSession,
    pub(in crate::server) number: i64,
}

impl RetryableSessions {
    pub(in crate::server) fn lock(&self) -> MutexGuard<'_, Vec<RetryableSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

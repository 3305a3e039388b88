//! Whole buckets that the server refused in a transaction.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mongodb::error::Error as DriverError;

use crate::{Error, error::duplicate_index, server::Server};

/// Whether the server refused the whole buckets of a transaction, since an id or the place of the open
/// bucket is taken. The next attempt leaves their items to the append protocol, which copes with any
/// stored buckets.
#[derive(Debug, Default)]
pub(super) struct Refused(AtomicBool);

impl Refused {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// The error of a command in the transaction, which is not committed.
    pub(super) fn note(&self, error: DriverError, server: &Server) -> Error {
        self.0.fetch_or(duplicate_index(&error).is_some(), Relaxed);
        server.target().write_error(error).not_sent()
    }
}

//! A cursor over typed documents.

mod prefetch;

use mongodb::{
    ClientSession, Cursor, SessionCursor,
    bson::{Bson, Document, RawDocument, RawDocumentBuf},
    error::Error as DriverError,
};
use serde::de::DeserializeOwned;

use self::prefetch::Prefetch;
use super::call::Calls;
use crate::value::shell::shell;

/// A cursor, with or without a session.
pub(crate) struct DocumentCursor<'s, R> {
    cursor: AnyCursor<'s, R>,
    prefetch: Prefetch<R>,
    /// The calls that read, for which all further batches count.
    calls: Calls,
}

enum AnyCursor<'s, R> {
    Plain(Cursor<R>),
    Session(SessionCursor<R>, &'s mut ClientSession),
}

/// Why the next row could not be read.
pub(crate) enum CursorError {
    /// The server failed.
    Driver(DriverError),
    /// This row could not be decoded.
    Decode(RawDocumentBuf, DriverError),
}

impl<R> From<Cursor<R>> for DocumentCursor<'_, R> {
    fn from(cursor: Cursor<R>) -> Self {
        Self {
            cursor: AnyCursor::Plain(cursor),
            prefetch: Prefetch::default(),
            calls: Calls::current(),
        }
    }
}

impl<'s, R> From<(SessionCursor<R>, &'s mut ClientSession)> for DocumentCursor<'s, R> {
    fn from((cursor, session): (SessionCursor<R>, &'s mut ClientSession)) -> Self {
        Self {
            cursor: AnyCursor::Session(cursor, session),
            prefetch: Prefetch::default(),
            calls: Calls::current(),
        }
    }
}

impl<'s> DocumentCursor<'s, Document> {
    /// The cursor for rows of another type.
    pub(super) fn with_type<R: DeserializeOwned>(self) -> DocumentCursor<'s, R> {
        DocumentCursor {
            cursor: match self.cursor {
                AnyCursor::Plain(cursor) => AnyCursor::Plain(cursor.with_type()),
                AnyCursor::Session(cursor, session) => {
                    AnyCursor::Session(cursor.with_type(), session)
                }
            },
            prefetch: Prefetch::default(),
            calls: self.calls,
        }
    }
}

impl<'s, R: DeserializeOwned> DocumentCursor<'s, R> {
    /// The next row, and what a function sees in its bytes.
    pub(crate) async fn next_with<X>(
        &mut self,
        look: impl FnOnce(&RawDocument) -> X,
    ) -> Result<Option<(R, X)>, CursorError> {
        if !self.advance().await.map_err(CursorError::Driver)? {
            return Ok(None);
        }
        match self.decode() {
            Ok(row) => Ok(Some((row, look(self.raw())))),
            Err(error) => Err(CursorError::Decode(self.raw().to_owned(), error)),
        }
    }

    /// All further rows, for reads of few rows.
    pub(crate) async fn rest(mut self) -> Result<Vec<R>, DriverError> {
        let mut found = Vec::new();
        while self.advance().await? {
            found.push(self.decode()?);
        }
        Ok(found)
    }

    /// Moves to the next row, if there is one.
    pub(crate) async fn advance(&mut self) -> Result<bool, DriverError> {
        let advanced = match &mut self.cursor {
            AnyCursor::Plain(cursor) => self.calls.next_row(cursor.advance()).await,
            AnyCursor::Session(cursor, session) => {
                self.calls.next_row(cursor.advance(session)).await
            }
        };
        match &advanced {
            Ok(true) => self.calls.bytes(|| self.raw().as_bytes().len()),
            Ok(false) => {}
            Err(error) => self.calls.failed(error),
        }
        advanced
    }

    /// Counts items that this cursor handed out, for tracing.
    pub(crate) fn give(&self, items: usize) {
        self.calls.items(items as u64);
    }

    /// Decodes the row that [`advance`](Self::advance) moved to.
    pub(crate) fn decode(&self) -> Result<R, DriverError> {
        match &self.cursor {
            AnyCursor::Plain(cursor) => cursor.deserialize_current(),
            AnyCursor::Session(cursor, _) => cursor.deserialize_current(),
        }
    }

    /// The calls that read.
    pub(crate) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Gives the session back, for another read.
    pub(crate) fn into_session(self) -> Option<&'s mut ClientSession> {
        match self.cursor {
            AnyCursor::Plain(_) => None,
            AnyCursor::Session(_, session) => Some(session),
        }
    }

    fn raw(&self) -> &RawDocument {
        match &self.cursor {
            AnyCursor::Plain(cursor) => cursor.current(),
            AnyCursor::Session(cursor, _) => cursor.current(),
        }
    }
}

/// A row's `_id` as the shell writes it.
pub(crate) fn id(row: &RawDocument) -> String {
    let id = row.get("_id").ok().flatten();
    let id = id.and_then(|id| Bson::try_from(id).ok());
    id.map_or_else(|| "missing".to_owned(), |id| shell(&id))
}

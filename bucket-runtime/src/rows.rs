//! Rows as they come from the server.

use mongodb::{
    ClientSession, Cursor, SessionCursor,
    bson::{Bson, RawDocument},
    error::Error as DriverError,
};
use serde::de::DeserializeOwned;

/// A cursor, with or without a session.
pub(crate) enum Rows<'s, R> {
    Plain(Cursor<R>),
    Session(SessionCursor<R>, &'s mut ClientSession),
}

/// Why the next row could not be had.
pub(crate) enum RowError {
    /// The server failed.
    Driver(DriverError),
    /// The row could not be decoded: its `_id`.
    Decode(String, DriverError),
}

impl<'s, R: DeserializeOwned> Rows<'s, R> {
    /// The next row, decoded straight from the batch that the server sent.
    pub(crate) async fn next(&mut self) -> Result<Option<R>, RowError> {
        let row = self.next_with(|_| ()).await?;
        Ok(row.map(|(row, ())| row))
    }

    /// The next row, and what else is to be seen in it.
    pub(crate) async fn next_with<X>(
        &mut self,
        look: impl FnOnce(&RawDocument) -> X,
    ) -> Result<Option<(R, X)>, RowError> {
        if !self.advance().await.map_err(RowError::Driver)? {
            return Ok(None);
        }
        match self.decode() {
            Ok(row) => Ok(Some((row, look(self.raw())))),
            Err(error) => Err(RowError::Decode(self.id(), error)),
        }
    }

    /// Goes to the next row, if there is one.
    pub(crate) async fn advance(&mut self) -> Result<bool, DriverError> {
        match self {
            Self::Plain(cursor) => cursor.advance().await,
            Self::Session(cursor, session) => cursor.advance(session).await,
        }
    }

    /// The row that [`advance`](Self::advance) went to.
    pub(crate) fn decode(&self) -> Result<R, DriverError> {
        match self {
            Self::Plain(cursor) => cursor.deserialize_current(),
            Self::Session(cursor, _) => cursor.deserialize_current(),
        }
    }

    /// The session, for another read.
    pub(crate) fn into_session(self) -> Option<&'s mut ClientSession> {
        match self {
            Self::Plain(_) => None,
            Self::Session(_, session) => Some(session),
        }
    }

    fn raw(&self) -> &RawDocument {
        match self {
            Self::Plain(cursor) => cursor.current(),
            Self::Session(cursor, _) => cursor.current(),
        }
    }

    /// The row's `_id`, as text for people.
    fn id(&self) -> String {
        let id = self.raw().get("_id").ok().flatten();
        match id.and_then(|id| Bson::try_from(id).ok()) {
            Some(Bson::String(text)) => text,
            Some(other) => other.to_string(),
            None => "missing".to_owned(),
        }
    }
}

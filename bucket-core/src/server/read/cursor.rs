//! A cursor over typed documents.

use std::{marker::PhantomData, vec::IntoIter};

use mongodb::{
    ClientSession, Cursor, SessionCursor,
    bson::{Bson, Document, RawDocument, RawDocumentBuf},
    error::Error as DriverError,
};
use serde::de::DeserializeOwned;

use crate::{
    Result,
    server::{
        call::Calls,
        target::{OwnedTarget, Target},
    },
    value::{bytes, shell::shell},
};

/// A cursor over rows of this type, with or without a session. It knows the target of its read,
/// which its errors name.
pub struct DocumentCursor<'s, R> {
    raw: RawCursor<'s>,
    row: PhantomData<fn() -> R>,
}

/// All of a cursor that does not depend on the type of its rows.
struct RawCursor<'s> {
    cursor: AnyCursor<'s>,
    /// The first row, while it is the next one although the cursor has passed it.
    peeked: Option<RawDocumentBuf>,
    target: OwnedTarget,
    /// The calls that read, for which all further batches count.
    calls: Calls,
}

/// A cursor of the driver.
pub(in crate::server) enum AnyCursor<'s> {
    Plain(Cursor<Document>),
    Session(SessionCursor<Document>, &'s mut ClientSession),
    /// The current row, and those after it, which were read in this session.
    Rows(
        RawDocumentBuf,
        IntoIter<RawDocumentBuf>,
        Option<&'s mut ClientSession>,
    ),
}

/// Why the next row could not be read.
pub enum CursorError {
    /// The server failed.
    Driver(DriverError),
    /// A row could not be decoded.
    Decode(RawDocumentBuf, DriverError),
}

impl<'s> AnyCursor<'s> {
    /// A cursor over rows that were read in this session.
    pub(in crate::server) fn of_rows(
        rows: Vec<RawDocumentBuf>,
        session: Option<&'s mut ClientSession>,
    ) -> Self {
        Self::Rows(RawDocumentBuf::new(), rows.into_iter(), session)
    }

    /// Moves to the next row, if there is one.
    pub(in crate::server) async fn advance(&mut self) -> Result<bool, DriverError> {
        match self {
            Self::Plain(cursor) => cursor.advance().await,
            Self::Session(cursor, session) => cursor.advance(session).await,
            Self::Rows(current, rest, _) => {
                let next = rest.next();
                let is_there = next.is_some();
                *current = next.unwrap_or_default();
                Ok(is_there)
            }
        }
    }

    /// Decodes the row that [`advance`](Self::advance) moved to.
    pub(in crate::server) fn decode<R: DeserializeOwned>(&self) -> Result<R, DriverError> {
        bytes::read(self.row().as_bytes())
    }

    fn row(&self) -> &RawDocument {
        match self {
            Self::Plain(cursor) => cursor.current(),
            Self::Session(cursor, _) => cursor.current(),
            Self::Rows(current, ..) => current,
        }
    }
}

impl<'s, R> DocumentCursor<'s, R> {
    pub(in crate::server) fn new(target: Target<'_>, cursor: AnyCursor<'s>) -> Self {
        Self {
            raw: RawCursor {
                cursor,
                peeked: None,
                target: target.into_owned(),
                calls: Calls::current(),
            },
            row: PhantomData,
        }
    }

    /// The target of the read.
    pub fn target(&self) -> Target<'_> {
        self.raw.target.borrow()
    }

    /// Gives the session back, for another read.
    pub fn into_session(self) -> Option<&'s mut ClientSession> {
        match self.raw.cursor {
            AnyCursor::Session(_, session) => Some(session),
            AnyCursor::Rows(_, _, session) => session,
            AnyCursor::Plain(_) => None,
        }
    }
}

impl<R: DeserializeOwned> DocumentCursor<'_, R> {
    /// The next row.
    pub async fn next_row(&mut self) -> Result<Option<R>> {
        let next = self.next_and(|_| ()).await;
        let next = next.map_err(|error| self.target().row_error(error))?;
        Ok(next.map(|(row, ())| row))
    }

    /// The next row, decoded straight from the bytes that the server sent, and what a function
    /// takes of them.
    pub async fn next_and<X>(
        &mut self,
        take: impl FnOnce(&RawDocument) -> X,
    ) -> Result<Option<(R, X)>, CursorError> {
        if let Some(row) = self.raw.peeked.take() {
            return Ok(Some((decode(&row)?, take(&row))));
        }
        if !self.raw.advance().await.map_err(CursorError::Driver)? {
            return Ok(None);
        }
        let row = self.raw.cursor.row();
        Ok(Some((decode(row)?, take(row))))
    }

    /// The bytes of the first row, which stays the next one.
    pub async fn peek(&mut self) -> Result<Option<&RawDocument>> {
        let advanced = self.raw.advance().await;
        let advanced = advanced.map_err(|error| self.target().read_error(error))?;
        self.raw.peeked = advanced.then(|| self.raw.cursor.row().to_owned());
        Ok(self.raw.peeked.as_deref())
    }

    /// Takes the row that was [peeked](Self::peek) at.
    pub fn take_peeked(&mut self) -> Option<RawDocumentBuf> {
        self.raw.peeked.take()
    }

    /// The next row, of a type that is not the user's: a row that cannot be decoded is the server's
    /// fault.
    pub async fn next_decoded(&mut self) -> Result<Option<R>> {
        let row = match self.raw.advance().await {
            Ok(true) => self.raw.cursor.decode().map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        row.map_err(|error| self.target().read_error(error))
    }

    /// All further rows, for reads of few rows.
    pub async fn rest(mut self) -> Result<Vec<R>> {
        let mut found = Vec::new();
        while let Some(row) = self.next_decoded().await? {
            found.push(row);
        }
        Ok(found)
    }
}

impl RawCursor<'_> {
    /// Moves to the next row, if there is one.
    async fn advance(&mut self) -> Result<bool, DriverError> {
        let advanced = self.calls.next_row(self.cursor.advance()).await;
        if let Err(error) = &advanced {
            self.calls.note_failure(error);
        }
        advanced
    }
}

fn decode<R: DeserializeOwned>(row: &RawDocument) -> Result<R, CursorError> {
    bytes::read(row.as_bytes()).map_err(|error| CursorError::Decode(row.to_owned(), error))
}

/// A row's `_id`; `Null` if there is none.
pub fn id_of(row: &RawDocument) -> Bson {
    let id = row.get("_id").ok().flatten();
    let id = id.and_then(|id| Bson::try_from(id).ok());
    id.unwrap_or(Bson::Null)
}

/// A row's `_id` as the shell writes it.
pub fn id(row: &RawDocument) -> String {
    shell(&id_of(row))
}

//! A cursor over documents.

use mongodb::{
    ClientSession,
    bson::{RawDocument, RawDocumentBuf},
};
use serde::de::DeserializeOwned;

use crate::{
    Result,
    server::{
        call::Calls,
        target::{OwnedTarget, Target},
        wire::AnyCursor,
    },
    value::bytes,
};

/// A cursor over documents, with or without a session. It knows the target of its read, which its
/// errors name. Not typed by its rows, so that its code is compiled once.
pub struct DocumentCursor<'s> {
    cursor: AnyCursor<'s>,
    /// Whether the current row is the next one, although the cursor has passed it.
    is_peeked: bool,
    target: OwnedTarget,
    /// The calls that read, for which all further batches count.
    calls: Calls,
}

impl<'s> DocumentCursor<'s> {
    pub(in crate::server) fn new(target: Target<'_>, cursor: AnyCursor<'s>) -> Self {
        Self {
            cursor,
            is_peeked: false,
            target: target.into_owned(),
            calls: Calls::current(),
        }
    }

    /// The target of the read.
    pub fn target(&self) -> Target<'_> {
        self.target.borrow()
    }

    /// Gives the session back, for another read.
    pub fn into_session(self) -> Option<&'s mut ClientSession> {
        match self.cursor {
            AnyCursor::Session(_, session) => Some(session),
            AnyCursor::Rows(_, _, session) => session,
            AnyCursor::Plain(_) => None,
        }
    }

    /// The bytes of the next row, as the server sent them, and the target of the read.
    pub async fn next_raw(&mut self) -> Result<Option<(&OwnedTarget, &RawDocument)>> {
        if !std::mem::take(&mut self.is_peeked) {
            let advanced = self.calls.next_row(self.cursor.advance()).await;
            let advanced = advanced.map_err(|error| {
                self.calls.note_failure(&error);
                self.target().read_error(error)
            })?;
            if !advanced {
                return Ok(None);
            }
        }
        Ok(Some((&self.target, self.cursor.row())))
    }

    /// The bytes of the next row, which stays the next one.
    pub async fn peek(&mut self) -> Result<Option<&RawDocument>> {
        self.is_peeked = self.next_raw().await?.is_some();
        Ok(self.is_peeked.then(|| self.cursor.row()))
    }

    /// Takes the row that was [peeked](Self::peek) at.
    pub fn take_peeked(&mut self) -> Option<RawDocumentBuf> {
        std::mem::take(&mut self.is_peeked).then(|| self.cursor.row().to_owned())
    }

    /// The next row, of a type that is not the user's: a row that cannot be decoded is the server's
    /// fault.
    pub async fn next_decoded<R: DeserializeOwned>(&mut self) -> Result<Option<R>> {
        let Some((target, row)) = self.next_raw().await? else {
            return Ok(None);
        };
        let row = bytes::read(row.as_bytes()).map(Some);
        row.map_err(|error| target.borrow().read_error(error))
    }

    /// All further rows, for reads of few rows.
    pub async fn rest<R: DeserializeOwned>(&mut self) -> Result<Vec<R>> {
        let mut found = Vec::new();
        while let Some(row) = self.next_decoded().await? {
            found.push(row);
        }
        Ok(found)
    }
}

//! The driver's cursors.

use std::vec::IntoIter;

use mongodb::{
    ClientSession, Cursor, SessionCursor,
    bson::{Document, RawDocument, RawDocumentBuf},
    error::Error as DriverError,
};

/// A cursor of the driver, or rows that were read already.
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

    /// The current row.
    pub(in crate::server) fn row(&self) -> &RawDocument {
        match self {
            Self::Plain(cursor) => cursor.current(),
            Self::Session(cursor, _) => cursor.current(),
            Self::Rows(current, ..) => current,
        }
    }
}

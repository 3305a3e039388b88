//! A cursor over typed documents.

mod prefetch;

use std::borrow::Cow;

use mongodb::{
    ClientSession, Cursor, SessionCursor,
    bson::{Bson, Document, RawDocument, RawDocumentBuf},
    error::Error as DriverError,
};
use serde::de::DeserializeOwned;

use self::prefetch::Prefetch;
use super::{
    call::Calls,
    target::{OwnedTarget, Target},
};
use crate::{
    Bucket, Result,
    value::{
        shell::shell,
        stored_bucket::StoredBucket,
        unreadable::{OnUnreadable, sift},
    },
};

/// A cursor, with or without a session. It knows the target of its read, which its errors name.
pub(crate) struct DocumentCursor<'s, R> {
    cursor: AnyCursor<'s, R>,
    prefetch: Prefetch<R>,
    target: OwnedTarget,
    /// The calls that read, for which all further batches count.
    calls: Calls,
}

/// A cursor of the driver.
pub(super) enum AnyCursor<'s, R> {
    Plain(Cursor<R>),
    Session(SessionCursor<R>, &'s mut ClientSession),
}

/// Why the next row could not be read.
pub(crate) enum CursorError {
    /// The server failed.
    Driver(DriverError),
    /// A row could not be decoded.
    Decode(RawDocumentBuf, DriverError),
}

impl<R> From<Cursor<R>> for AnyCursor<'_, R> {
    fn from(cursor: Cursor<R>) -> Self {
        Self::Plain(cursor)
    }
}

impl<'s> AnyCursor<'s, Document> {
    /// The cursor for rows of another type.
    pub(super) fn with_type<R: DeserializeOwned>(self) -> AnyCursor<'s, R> {
        match self {
            Self::Plain(cursor) => AnyCursor::Plain(cursor.with_type()),
            Self::Session(cursor, session) => AnyCursor::Session(cursor.with_type(), session),
        }
    }
}

impl<R: DeserializeOwned> AnyCursor<'_, R> {
    /// Moves to the next row, if there is one.
    pub(super) async fn advance(&mut self) -> Result<bool, DriverError> {
        match self {
            Self::Plain(cursor) => cursor.advance().await,
            Self::Session(cursor, session) => cursor.advance(session).await,
        }
    }

    /// Decodes the row that [`advance`](Self::advance) moved to.
    pub(super) fn decode(&self) -> Result<R, DriverError> {
        match self {
            Self::Plain(cursor) => cursor.deserialize_current(),
            Self::Session(cursor, _) => cursor.deserialize_current(),
        }
    }

    fn raw(&self) -> &RawDocument {
        match self {
            Self::Plain(cursor) => cursor.current(),
            Self::Session(cursor, _) => cursor.current(),
        }
    }
}

impl<'s, R> DocumentCursor<'s, R> {
    pub(super) fn new(target: Target<'_>, cursor: impl Into<AnyCursor<'s, R>>) -> Self {
        Self {
            cursor: cursor.into(),
            prefetch: Prefetch::default(),
            target: target.into_owned(),
            calls: Calls::current(),
        }
    }

    /// The target of the read.
    pub(crate) fn target(&self) -> Target<'_> {
        self.target.borrow()
    }

    /// The calls that read.
    pub(crate) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Counts items that this cursor handed out, for tracing.
    pub(crate) fn give(&self, items: usize) {
        self.calls.items(items as u64);
    }

    /// Gives the session back, for another read.
    pub(crate) fn into_session(self) -> Option<&'s mut ClientSession> {
        match self.cursor {
            AnyCursor::Plain(_) => None,
            AnyCursor::Session(_, session) => Some(session),
        }
    }
}

impl<R: DeserializeOwned> DocumentCursor<'_, R> {
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

    /// The next row, of a type that is not the user's: a row that cannot be decoded is the server's fault.
    pub(crate) async fn next_decoded(&mut self) -> Result<Option<R>> {
        let row = match self.advance().await {
            Ok(true) => self.decode().map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        row.map_err(|error| self.target().read_error(error))
    }

    /// All further rows, for reads of few rows.
    pub(crate) async fn rest(mut self) -> Result<Vec<R>> {
        let mut found = Vec::new();
        while let Some(row) = self.next_decoded().await? {
            found.push(row);
        }
        Ok(found)
    }

    /// Moves to the next row, if there is one.
    async fn advance(&mut self) -> Result<bool, DriverError> {
        let advanced = self.calls.next_row(self.cursor.advance()).await;
        match &advanced {
            Ok(true) => self.calls.bytes(|| self.raw().as_bytes().len()),
            Ok(false) => {}
            Err(error) => self.calls.note_failure(error),
        }
        advanced
    }

    /// Decodes the row that [`advance`](Self::advance) moved to.
    fn decode(&self) -> Result<R, DriverError> {
        self.cursor.decode()
    }

    fn raw(&self) -> &RawDocument {
        self.cursor.raw()
    }
}

impl<T: Bucket, E: DeserializeOwned + Send + 'static> DocumentCursor<'_, StoredBucket<T, E>> {
    /// The next bucket. Unreadable elements are an error, unless a callback takes them.
    pub(crate) async fn next_bucket(
        &mut self,
        on_unreadable: Option<&mut OnUnreadable<'_>>,
    ) -> Result<Option<StoredBucket<T, E>>> {
        let next = self.next_bucket_and(on_unreadable, |_| ()).await?;
        Ok(next.map(|(bucket, ())| bucket))
    }

    /// The next bucket, and what a function takes of its bytes. Unreadable elements are an error, unless a
    /// callback takes them.
    pub(crate) async fn next_bucket_and<X>(
        &mut self,
        on_unreadable: Option<&mut OnUnreadable<'_>>,
        take: impl Fn(Cow<'_, RawDocument>) -> X,
    ) -> Result<Option<(StoredBucket<T, E>, X)>> {
        match self.next_and(&take).await {
            Err(CursorError::Decode(row, error)) => {
                let fail = |error| self.target().unreadable(&row, error);
                let bucket = sift(&row, error, on_unreadable, fail)?;
                Ok(Some((bucket, take(Cow::Owned(row)))))
            }
            found => found.map_err(|error| self.target().row_error(error)),
        }
    }
}

/// A row's `_id` as the shell writes it.
pub(crate) fn id(row: &RawDocument) -> String {
    let id = row.get("_id").ok().flatten();
    let id = id.and_then(|id| Bson::try_from(id).ok());
    id.map_or_else(|| "missing".to_owned(), |id| shell(&id))
}

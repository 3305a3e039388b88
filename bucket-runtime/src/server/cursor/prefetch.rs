//! Prefetching: while the caller uses one large document, tasks decode the next ones.
//!
//! Turning a bucket of 1,000 items into structs takes longer than everything else in reading it.

use std::{any::Any, borrow::Cow, collections::VecDeque};

use mongodb::bson::{RawDocument, RawDocumentBuf};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use super::{CursorError, DocumentCursor, RawCursor, decode};

/// The smallest row, in bytes, that is worth a task.
const MIN_LARGE_ROW: usize = 16 << 10;

/// The maximum number of rows that are decoded at the same time.
const MAX_PREFETCHED: usize = 4;

/// The rows taken from the cursor and not yet returned.
#[derive(Default)]
pub(super) struct Prefetch {
    rows: VecDeque<PrefetchedRow>,
    /// Whether the cursor has no more rows.
    is_last: bool,
}

enum PrefetchedRow {
    Raw(RawDocumentBuf),
    Task(DecodingTask),
    Failed(CursorError),
}

/// Decodes a row, to a type that the typed cursor knows, so that all else is compiled once for all types.
type Decode = fn(&RawDocument) -> Result<Box<dyn Any + Send>, CursorError>;

/// The bytes of a row, and the decoded row if a task has decoded it.
type OwnedRow = (RawDocumentBuf, Option<Box<dyn Any + Send>>);

/// A row that is being decoded; dropping it stops the decoding.
struct DecodingTask(JoinHandle<Result<OwnedRow, CursorError>>);

/// The next row.
enum NextRow {
    /// A small one, which the cursor is at.
    Current,
    Owned(OwnedRow),
}

impl<R: DeserializeOwned + Send + 'static> DocumentCursor<'_, R> {
    /// The next row, decoded straight from the bytes that the server sent.
    pub(crate) async fn next_row(&mut self) -> crate::Result<Option<R>> {
        let next = self.next_and(|_| ()).await;
        let next = next.map_err(|error| self.target().row_error(error))?;
        Ok(next.map(|(row, ())| row))
    }

    /// The next row, and what a function takes of its bytes. Those of a large row are owned already.
    pub(crate) async fn next_and<X>(
        &mut self,
        take: impl FnOnce(Cow<'_, RawDocument>) -> X,
    ) -> Result<Option<(R, X)>, CursorError> {
        let decode_any = |row: &RawDocument| Ok(Box::new(decode::<R>(row)?) as Box<dyn Any + Send>);
        let (row, decoded) = match self.raw.next(decode_any).await? {
            Some(NextRow::Owned((row, decoded))) => (Cow::Owned(row), decoded),
            Some(NextRow::Current) => (Cow::Borrowed(self.raw.row()), None),
            None => return Ok(None),
        };
        let decoded = match decoded.and_then(|decoded| decoded.downcast().ok()) {
            Some(decoded) => *decoded,
            None => decode(&row)?,
        };
        Ok(Some((decoded, take(row))))
    }

    /// The bytes of the first row, which stays the next one.
    pub(crate) async fn peek(&mut self) -> crate::Result<Option<&RawDocument>> {
        let advanced = self.raw.advance().await;
        if !advanced.map_err(|error| self.target().read_error(error))? {
            self.raw.prefetch.is_last = true;
            return Ok(None);
        }
        let row = PrefetchedRow::Raw(self.raw.row().to_owned());
        self.raw.prefetch.rows.push_back(row);
        Ok(Some(self.raw.row()))
    }

    /// Takes the row that was [peeked](Self::peek) at.
    pub(crate) fn take_peeked(&mut self) -> Option<RawDocumentBuf> {
        match self.raw.prefetch.rows.pop_front() {
            Some(PrefetchedRow::Raw(row)) => Some(row),
            _ => None,
        }
    }
}

impl RawCursor<'_> {
    async fn next(&mut self, decode: Decode) -> Result<Option<NextRow>, CursorError> {
        // A small row that was peeked at needs no others beside it.
        let first = self.prefetch.rows.front();
        let is_small = matches!(first, Some(PrefetchedRow::Raw(row)) if !is_large(row));
        while !is_small && !self.prefetch.is_last && self.prefetch.rows.len() < MAX_PREFETCHED {
            match self.advance().await {
                Ok(true) if self.prefetch.rows.is_empty() && !is_large(self.row()) => {
                    return Ok(Some(NextRow::Current));
                }
                Ok(true) => {
                    let row = self.row().to_owned();
                    self.prefetch.push(row, decode);
                }
                Ok(false) => self.prefetch.is_last = true,
                Err(error) => {
                    self.prefetch.is_last = true;
                    let failed = PrefetchedRow::Failed(CursorError::Driver(error));
                    self.prefetch.rows.push_back(failed);
                }
            }
        }
        let row = match self.prefetch.rows.pop_front() {
            Some(PrefetchedRow::Raw(row)) => (row, None),
            Some(PrefetchedRow::Task(task)) => task.decoded().await?,
            Some(PrefetchedRow::Failed(error)) => return Err(error),
            None => return Ok(None),
        };
        Ok(Some(NextRow::Owned(row)))
    }
}

impl Prefetch {
    /// The caller decodes the first row itself, which is all there is to do for a single row.
    fn push(&mut self, row: RawDocumentBuf, decode: Decode) {
        self.rows.push_back(match self.rows.is_empty() {
            true => PrefetchedRow::Raw(row),
            false => PrefetchedRow::Task(DecodingTask(tokio::spawn(async move {
                let decoded = decode(&row)?;
                Ok((row, Some(decoded)))
            }))),
        });
    }
}

impl DecodingTask {
    async fn decoded(mut self) -> Result<OwnedRow, CursorError> {
        match (&mut self.0).await {
            Ok(decoded) => decoded,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The tokio runtime is shutting down.
                Err(cancelled) => {
                    let source = std::io::Error::other(cancelled);
                    Err(CursorError::Driver(source.into()))
                }
            },
        }
    }
}

impl Drop for DecodingTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn is_large(row: &RawDocument) -> bool {
    row.as_bytes().len() >= MIN_LARGE_ROW
}

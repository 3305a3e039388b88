//! Prefetching: while the caller uses one large document, tasks decode the next ones.
//!
//! Turning a bucket of 1,000 items into structs takes longer than everything else in reading it.

use std::{borrow::Cow, collections::VecDeque};

use mongodb::bson::{RawDocument, RawDocumentBuf};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use super::{CursorError, DocumentCursor};
use crate::value::bytes;

/// The smallest row, in bytes, that is worth a task.
const MIN_LARGE_ROW: usize = 16 << 10;

/// The maximum number of rows that are decoded at the same time.
const MAX_PREFETCHED: usize = 4;

/// The rows taken from the cursor and not yet returned.
pub(super) struct Prefetch<R> {
    rows: VecDeque<PrefetchedRow<R>>,
    /// Whether the cursor has no more rows.
    is_last: bool,
}

enum PrefetchedRow<R> {
    Raw(RawDocumentBuf),
    Task(DecodingTask<R>),
    Failed(CursorError),
}

/// A row that is being decoded; dropping it stops the decoding.
struct DecodingTask<R>(JoinHandle<Result<(R, RawDocumentBuf), CursorError>>);

impl<R> Default for Prefetch<R> {
    fn default() -> Self {
        Self {
            rows: VecDeque::new(),
            is_last: false,
        }
    }
}

impl<R: DeserializeOwned + Send + 'static> DocumentCursor<'_, R> {
    /// The next row, decoded straight from the bytes that the server sent.
    pub(crate) async fn next_row(&mut self) -> crate::Result<Option<R>> {
        let next = self.next().await;
        next.map_err(|error| self.target().row_error(error))
    }

    /// Like [`next_row`](Self::next_row), with the reason apart from the target.
    pub(crate) async fn next(&mut self) -> Result<Option<R>, CursorError> {
        Ok(self.next_and(|_| ()).await?.map(|(row, ())| row))
    }

    /// The next row, and what a function takes of its bytes. Those of a large row are owned already.
    pub(crate) async fn next_and<X>(
        &mut self,
        take: impl FnOnce(Cow<'_, RawDocument>) -> X,
    ) -> Result<Option<(R, X)>, CursorError> {
        // A small row that was peeked at needs no others beside it.
        let first = self.prefetch.rows.front();
        let is_small = matches!(first, Some(PrefetchedRow::Raw(row)) if !is_large(row));
        while !is_small && !self.prefetch.is_last && self.prefetch.rows.len() < MAX_PREFETCHED {
            match self.advance().await {
                Ok(true) if self.prefetch.rows.is_empty() && !is_large(self.raw()) => {
                    let row = self.raw();
                    return Ok(Some((decode(row)?, take(Cow::Borrowed(row)))));
                }
                Ok(true) => {
                    let row = self.raw().to_owned();
                    self.prefetch.push(row);
                }
                Ok(false) => self.prefetch.is_last = true,
                Err(error) => {
                    self.prefetch.is_last = true;
                    let failed = PrefetchedRow::Failed(CursorError::Driver(error));
                    self.prefetch.rows.push_back(failed);
                }
            }
        }
        let (row, bytes) = match self.prefetch.rows.pop_front() {
            Some(PrefetchedRow::Raw(row)) => (decode(&row)?, row),
            Some(PrefetchedRow::Task(task)) => task.decoded().await?,
            Some(PrefetchedRow::Failed(error)) => return Err(error),
            None => return Ok(None),
        };
        Ok(Some((row, take(Cow::Owned(bytes)))))
    }

    /// The bytes of the first row, which stays the next one.
    pub(crate) async fn peek(&mut self) -> crate::Result<Option<&RawDocument>> {
        let advanced = self.advance().await;
        if !advanced.map_err(|error| self.target().read_error(error))? {
            self.prefetch.is_last = true;
            return Ok(None);
        }
        let row = self.raw().to_owned();
        self.prefetch.push(row);
        Ok(Some(self.raw()))
    }

    /// Takes the row that was [peeked](Self::peek) at.
    pub(crate) fn take_peeked(&mut self) -> Option<RawDocumentBuf> {
        match self.prefetch.rows.pop_front() {
            Some(PrefetchedRow::Raw(row)) => Some(row),
            _ => None,
        }
    }
}

impl<R: DeserializeOwned + Send + 'static> Prefetch<R> {
    /// The caller decodes the first row itself, which is all there is to do for a single row.
    fn push(&mut self, row: RawDocumentBuf) {
        self.rows.push_back(match self.rows.is_empty() {
            true => PrefetchedRow::Raw(row),
            false => PrefetchedRow::Task(DecodingTask(tokio::spawn(async move {
                Ok((decode(&row)?, row))
            }))),
        });
    }
}

impl<R> DecodingTask<R> {
    async fn decoded(mut self) -> Result<(R, RawDocumentBuf), CursorError> {
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

impl<R> Drop for DecodingTask<R> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn is_large(row: &RawDocument) -> bool {
    row.as_bytes().len() >= MIN_LARGE_ROW
}

fn decode<R: DeserializeOwned>(row: &RawDocument) -> Result<R, CursorError> {
    bytes::read(row.as_bytes()).map_err(|error| CursorError::Decode(row.to_owned(), error))
}

//! Prefetching: while the caller uses one large document, tasks decode the next ones.
//!
//! Turning a bucket of 1,000 items into structs takes longer than everything else in reading it.

use std::collections::VecDeque;

use mongodb::bson::{RawDocument, RawDocumentBuf};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use super::{CursorError, DocumentCursor};
use crate::value::bytes;

/// The smallest row, in bytes, that is worth a task.
const LARGE: usize = 16 << 10;

/// How many rows are decoded at the same time at most.
const ROWS: usize = 4;

/// The rows taken from the cursor and not yet returned.
pub(super) struct Prefetch<R> {
    rows: VecDeque<Row<R>>,
    /// Whether the cursor has no more rows.
    is_last: bool,
}

enum Row<R> {
    Raw(RawDocumentBuf),
    Task(Task<R>),
    Failed(CursorError),
}

/// A row that is being decoded; dropping it stops the decoding.
struct Task<R>(JoinHandle<Result<R, CursorError>>);

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
    pub(crate) async fn next(&mut self) -> Result<Option<R>, CursorError> {
        while !self.prefetch.is_last && self.prefetch.rows.len() < ROWS {
            match self.advance().await {
                Ok(true) if self.prefetch.rows.is_empty() && !is_large(self.raw()) => {
                    return decode(self.raw()).map(Some);
                }
                Ok(true) => {
                    let row = self.raw().to_owned();
                    self.prefetch.push(row);
                }
                Ok(false) => self.prefetch.is_last = true,
                Err(error) => {
                    self.prefetch.is_last = true;
                    let failed = Row::Failed(CursorError::Driver(error));
                    self.prefetch.rows.push_back(failed);
                }
            }
        }
        match self.prefetch.rows.pop_front() {
            Some(Row::Raw(row)) => decode(&row).map(Some),
            Some(Row::Task(task)) => task.decoded().await.map(Some),
            Some(Row::Failed(error)) => Err(error),
            None => Ok(None),
        }
    }
}

impl<R: DeserializeOwned + Send + 'static> Prefetch<R> {
    /// The caller decodes the first row itself, which is all there is to do for a single row.
    fn push(&mut self, row: RawDocumentBuf) {
        self.rows.push_back(match self.rows.is_empty() {
            true => Row::Raw(row),
            false => Row::Task(Task(tokio::spawn(async move { decode(&row) }))),
        });
    }
}

impl<R> Task<R> {
    async fn decoded(mut self) -> Result<R, CursorError> {
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

impl<R> Drop for Task<R> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn is_large(row: &RawDocument) -> bool {
    row.as_bytes().len() >= LARGE
}

fn decode<R: DeserializeOwned>(row: &RawDocument) -> Result<R, CursorError> {
    bytes::read(row.as_bytes()).map_err(|error| CursorError::Decode(row.to_owned(), error))
}

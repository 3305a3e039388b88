//! With the feature `tracing`: a span for each call.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use futures_util::FutureExt;
use mongodb::{Collection, bson::Document, error::Error as DriverError};
use tracing::{Instrument, Span};

use super::Again;
use crate::{
    Error,
    error::{code_of, type_of},
    protocol::command::KeyScope,
};

/// The span of a call.
///
/// The fields have the names of OpenTelemetry's conventions for databases; a field that these do not
/// define begins with `bucket`. Values that are not known at the beginning follow when the span ends.
macro_rules! span {
    ($name:ident) => {
        tracing::info_span!(
            target: "bucket_runtime",
            stringify!($name),
            otel.kind = "client",
            otel.name = tracing::field::Empty,
            otel.status_code = tracing::field::Empty,
            db.system.name = "mongodb",
            db.operation.name = stringify!($name),
            db.namespace = tracing::field::Empty,
            db.collection.name = tracing::field::Empty,
            db.response.status_code = tracing::field::Empty,
            "error.type" = tracing::field::Empty,
            bucket.key = tracing::field::Empty,
            bucket.items = tracing::field::Empty,
            bucket.round_trips = tracing::field::Empty,
            bucket.tries = tracing::field::Empty,
            bucket.bytes = tracing::field::Empty,
        )
    };
}
pub(crate) use span;

tokio::task_local! {
    static CURRENT: Calls;
}

/// Runs a call in its span, which ends with it.
pub(crate) async fn run<F, T, E>(span: Span, call: F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
    E: AsRef<Error>,
{
    let call = pin!(call);
    if span.is_disabled() {
        return call.await;
    }
    let ends = Ends(Calls::one(&span));
    ends.0.run_in(span, call).await
}

/// Runs a call whose output is a stream. The span ends with the stream, whose cursor holds the call.
pub(crate) async fn stream<F, T>(span: Span, call: F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let call = pin!(call);
    if span.is_disabled() {
        return call.await;
    }
    Calls::one(&span).run_in(span, call).await
}

/// Ends the span of a call, also if its future is dropped.
struct Ends(Calls);

impl Drop for Ends {
    fn drop(&mut self) {
        for call in &*self.0.0 {
            call.end();
        }
    }
}

/// The calls for which a task works.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls(Arc<[Arc<Call>]>);

impl Calls {
    fn one(span: &Span) -> Self {
        Self(Arc::new([Arc::new(Call::new(span))]))
    }

    /// Does the work of a call, in its span.
    async fn run_in<F, T, E>(&self, span: Span, call: F) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>,
        E: AsRef<Error>,
    {
        let output = CURRENT.scope(self.clone(), call.instrument(span)).await;
        if let Err(error) = &output {
            self.note_error(error.as_ref());
        }
        output
    }

    pub(crate) fn current() -> Self {
        CURRENT.try_with(Self::clone).unwrap_or_default()
    }

    /// The calls that share a command.
    pub(crate) fn of_all<'c>(all: impl Iterator<Item = &'c Self>) -> Self {
        Self(all.flat_map(|calls| &*calls.0).cloned().collect())
    }

    /// Awaits work that counts for these calls, in any task.
    pub(crate) async fn carry<F: Future>(self, work: F) -> F::Output {
        let work = pin!(work);
        match self.0.is_empty() {
            true => work.await,
            false => CURRENT.scope(self, work).await,
        }
    }

    /// Like [`carry`](Self::carry), for synchronous work.
    pub(crate) fn doing<T>(self, work: impl FnOnce() -> T) -> T {
        match self.0.is_empty() {
            true => work(),
            false => CURRENT.sync_scope(self, work),
        }
    }

    /// Counts a round trip for these calls.
    pub(crate) fn request(&self, collection: &Collection<Document>) {
        for call in &*self.0 {
            call.name_target(collection, None);
            call.add(&call.round_trips, 1);
        }
    }

    /// Awaits the next row of a cursor, and counts a round trip unless the row is there already.
    pub(crate) async fn next_row<F: Future>(&self, row: F) -> F::Output {
        if self.0.is_empty() {
            return row.await;
        }
        let mut row = pin!(row);
        if let Some(row) = row.as_mut().now_or_never() {
            return row;
        }
        for call in &*self.0 {
            call.add(&call.round_trips, 1);
        }
        row.await
    }

    /// Names the collection and key that these calls concern.
    pub(crate) fn name_target(&self, collection: &Collection<Document>, scope: Option<&KeyScope>) {
        for call in &*self.0 {
            call.name_target(collection, scope);
        }
    }

    /// Counts items that these calls store, change, remove or return.
    pub(crate) fn items(&self, items: u64) {
        for call in &*self.0 {
            call.items.fetch_add(items, Relaxed);
        }
    }

    /// Counts bytes of items that these calls send, or of documents that they receive.
    pub(crate) fn bytes(&self, bytes: impl FnOnce() -> usize) {
        if !self.0.is_empty() {
            let bytes = bytes() as u64;
            for call in &*self.0 {
                call.add(&call.bytes, bytes);
            }
        }
    }

    /// Counts a repetition for these calls, and reports its reason as an event.
    pub(crate) fn again(&self, again: Again) {
        for call in &*self.0 {
            call.add(&call.repeats, 1);
            if let Some(parent) = &*call.span() {
                match again {
                    Again::LostRace => {
                        tracing::debug!(target: "bucket_runtime", parent: parent, "lost a race");
                    }
                    Again::Interrupted => {
                        tracing::debug!(target: "bucket_runtime", parent: parent, "interrupted, so sent again");
                    }
                    Again::NoIndex => {
                        tracing::info!(target: "bucket_runtime", parent: parent, "waiting for the index");
                    }
                }
            }
        }
    }

    /// Notes an error of the server while these calls read a stream.
    pub(crate) fn note_failure(&self, error: &DriverError) {
        for call in &*self.0 {
            call.note_failure(&type_of(error), code_of(error));
        }
    }

    /// Notes the error that these calls return, and warns if the write may be stored.
    fn note_error(&self, error: &Error) {
        for call in &*self.0 {
            call.note_failure(&error.type_name(), error.driver().and_then(code_of));
            if let (true, Some(parent)) = (error.is_maybe_stored(), &*call.span()) {
                tracing::warn!(target: "bucket_runtime", parent: parent, "may have been stored");
            }
        }
    }

    /// Ends the counting for these calls, which have their answers: the task goes on for others.
    pub(crate) fn are_answered(&self) {
        for call in &*self.0 {
            call.is_answered.store(true, Relaxed);
        }
    }
}

/// A call, from its beginning to the end of what it returned.
#[derive(Debug)]
struct Call {
    /// `None` after the end.
    span: Mutex<Option<Span>>,
    is_named: AtomicBool,
    is_answered: AtomicBool,
    items: AtomicU64,
    round_trips: AtomicU64,
    repeats: AtomicU64,
    bytes: AtomicU64,
}

impl Call {
    fn new(span: &Span) -> Self {
        Self {
            span: Mutex::new(Some(span.clone())),
            is_named: AtomicBool::default(),
            is_answered: AtomicBool::default(),
            items: AtomicU64::default(),
            round_trips: AtomicU64::default(),
            repeats: AtomicU64::default(),
            bytes: AtomicU64::default(),
        }
    }

    fn span(&self) -> MutexGuard<'_, Option<Span>> {
        self.span.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, counter: &AtomicU64, n: u64) {
        if !self.is_answered.load(Relaxed) {
            counter.fetch_add(n, Relaxed);
        }
    }

    /// Records the collection and the key in the span, unless the call has named others before.
    fn name_target(&self, collection: &Collection<Document>, scope: Option<&KeyScope>) {
        if !self.is_named.swap(true, Relaxed)
            && let Some(span) = &*self.span()
        {
            let call = span.metadata().map_or("", |metadata| metadata.name());
            span.record("otel.name", format!("{call} {}", collection.name()));
            span.record("db.namespace", &*collection.namespace().db);
            span.record("db.collection.name", collection.name());
            if let Some(scope) = scope {
                span.record("bucket.key", scope.label());
            }
        }
    }

    fn note_failure(&self, name: &str, code: Option<i32>) {
        if let Some(span) = &*self.span() {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", name);
            if let Some(code) = code {
                span.record("db.response.status_code", code.to_string());
            }
        }
    }

    /// Tells the counts, and ends the span.
    fn end(&self) {
        if let Some(span) = self.span().take() {
            span.record("bucket.items", self.items.load(Relaxed));
            span.record("bucket.round_trips", self.round_trips.load(Relaxed));
            span.record("bucket.tries", 1 + self.repeats.load(Relaxed));
            span.record("bucket.bytes", self.bytes.load(Relaxed));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.end();
    }
}

//! With the feature `tracing`: a span for each call.

mod counted;
mod request;

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use futures_util::{FutureExt, future::BoxFuture};
use mongodb::{Collection, bson::Document, error::Error as DriverError};
use tracing::Span;

use self::counted::CountedCall;
pub(crate) use self::request::SpannedRequest;
use super::Again;
use crate::{
    Error,
    error::{code_of, type_of},
    protocol::command::KeyScope,
};

/// The span of a call, with its name.
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
            bucket.round_trips = tracing::field::Empty,
            bucket.tries = tracing::field::Empty,
        )
    };
}
pub(crate) use span;

tokio::task_local! {
    static CURRENT: Calls;
}

/// Runs a call in its span, which ends with it.
pub(crate) fn run<'c, T, E>(
    span: Span,
    call: BoxFuture<'c, Result<T, E>>,
) -> BoxFuture<'c, Result<T, E>>
where
    T: Send + 'c,
    E: AsRef<Error> + Send + 'c,
{
    if span.is_disabled() {
        return call;
    }
    Box::pin(async move {
        let ends = Ends(Calls::one(span));
        ends.0.run_in(call).await
    })
}

/// Runs a call whose output is a stream. The span ends with the stream, whose cursor holds the call.
pub(crate) fn stream<'c, T: Send + 'c>(
    span: Span,
    call: BoxFuture<'c, Result<T, Error>>,
) -> BoxFuture<'c, Result<T, Error>> {
    if span.is_disabled() {
        return call;
    }
    Box::pin(async move { Calls::one(span).run_in(call).await })
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
pub(crate) struct Calls(Arc<[Arc<CountedCall>]>);

impl Calls {
    fn one(span: Span) -> Self {
        Self(Arc::new([Arc::new(CountedCall::new(span))]))
    }

    /// Does the work of a call, in its span.
    async fn run_in<T, E: AsRef<Error>>(&self, call: BoxFuture<'_, Result<T, E>>) -> Result<T, E> {
        let mut call = pin!(CURRENT.scope(self.clone(), call));
        // OpenTelemetry begins a span when it is entered, and from then on keeps its name.
        let output = poll_fn(|context| match self.are_named() {
            true => self.in_span(|| call.as_mut().poll(context)),
            false => call.as_mut().poll(context),
        });
        let output = output.await;
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

    fn are_named(&self) -> bool {
        self.0.iter().all(|call| call.is_named())
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
        self.name_target(collection, None);
        self.count_round_trip();
    }

    fn count_round_trip(&self) {
        for call in &*self.0 {
            call.add(&call.round_trips);
        }
    }

    /// Awaits the next row of a cursor, and counts a round trip unless the row is there already.
    pub(crate) async fn next_row<F: Future>(&self, row: F) -> F::Output {
        if self.0.is_empty() {
            return row.await;
        }
        let mut row = pin!(row);
        if let Some(row) = self.in_span(|| row.as_mut().now_or_never()) {
            return row;
        }
        self.count_round_trip();
        row.await
    }

    /// Names the collection and key that these calls concern.
    pub(crate) fn name_target(&self, collection: &Collection<Document>, scope: Option<&KeyScope>) {
        for call in &*self.0 {
            call.name_target(collection, scope);
        }
    }

    /// Counts a repetition for these calls, and reports its reason as an event.
    pub(crate) fn again(&self, again: Again) {
        for call in &*self.0 {
            call.add(&call.repeats);
            call.with_span(|parent| match again {
                Again::LostRace => {
                    tracing::debug!(target: "bucket_runtime", parent: parent, "lost a race");
                }
                Again::Interrupted => {
                    tracing::debug!(target: "bucket_runtime", parent: parent, "interrupted, so sent again");
                }
                Again::NoIndex => {
                    tracing::info!(target: "bucket_runtime", parent: parent, "waiting for the index");
                }
            });
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
            if error.is_maybe_stored() {
                call.with_span(|parent| {
                    tracing::warn!(target: "bucket_runtime", parent: parent, "may have been stored");
                });
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

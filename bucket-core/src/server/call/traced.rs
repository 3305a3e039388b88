//! With the feature `tracing`: a span for each call.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::BoxFuture};
use mongodb::{Collection, bson::Document, error::Error as DriverError};
use tokio::task::futures::TaskLocalFuture;
pub use tracing::Span;

use crate::{
    Error,
    error::{code_of, type_of},
    protocol::command::KeyScope,
};

/// Begins the span of a call of this name.
///
/// The fields have the names of OpenTelemetry's conventions for databases; a field that these do
/// not define begins with `bucket`. Values that are not known at the beginning follow when the span
/// ends.
#[macro_export]
#[doc(hidden)]
macro_rules! span {
    ($name:ident) => {|| {
        use $crate::server::call::tracing::{self, field::Empty};
        tracing::info_span!(
            target: "bucket_runtime", stringify!($name),
            otel.kind = "client", otel.name = Empty, otel.status_code = Empty,
            db.system.name = "mongodb", db.operation.name = stringify!($name),
            db.namespace = Empty, db.collection.name = Empty, db.response.status_code = Empty,
            "error.type" = Empty,
            bucket.key = Empty, bucket.round_trips = Empty, bucket.tries = Empty,
        )
    }};
}

tokio::task_local! {
    static CURRENT: Calls;
}

/// Runs a call in its span. The span ends with the call, also if its future is dropped; if the
/// output is a stream, the span ends with the stream, whose cursor holds the call.
pub fn run<'c, T, E>(
    span: fn() -> Span,
    call: BoxFuture<'c, Result<T, E>>,
    gives_stream: bool,
) -> BoxFuture<'c, Result<T, E>>
where
    T: Send + 'c,
    E: AsRef<Error> + Send + 'c,
{
    let span = span();
    if span.is_disabled() {
        return call;
    }
    let open = OpenCall {
        span,
        is_named: false,
        is_answered: false,
        round_trips: 0,
        tries: 1,
    };
    let calls = Calls(Arc::new([Arc::new(Mutex::new(Some(open)))]));
    let ends = (!gives_stream).then(|| Ends(calls.clone()));
    Box::pin(async move {
        let _ends = ends;
        let mut call = pin!(CURRENT.scope(calls.clone(), call));
        let output = poll_fn(|context| {
            // OpenTelemetry begins a span when it is entered, and from then on keeps its name.
            let mut is_named = true;
            calls.each_open(|call| is_named = call.is_named);
            match is_named {
                true => calls.in_span(|| call.as_mut().poll(context)),
                false => call.as_mut().poll(context),
            }
        });
        output.await.inspect_err(|error| {
            let error = error.as_ref();
            calls.each_open(|call| {
                // A call that sent nothing, since a value cannot be stored, has its name of the error.
                if !call.is_named {
                    call.name(error.collection());
                }
                call.note_failure(&error.type_name(), error.driver().and_then(code_of));
                if error.is_maybe_stored() {
                    tracing::warn!(target: "bucket_runtime", parent: &call.span, "may have been stored");
                }
            });
        })
    })
}

/// Ends the span of a call, while others may still hold the call.
struct Ends(Calls);

impl Drop for Ends {
    fn drop(&mut self) {
        for call in &*self.0.0 {
            lock(call).take();
        }
    }
}

/// A call that has not ended.
#[derive(Debug)]
struct OpenCall {
    span: Span,
    is_named: bool,
    is_answered: bool,
    round_trips: u64,
    tries: u64,
}

impl OpenCall {
    fn name(&mut self, namespace: &str) {
        self.is_named = true;
        let method = self.span.metadata().map_or("", |span| span.name());
        let (db, name) = namespace.split_once('.').unwrap_or_default();
        self.span.record("otel.name", format!("{method} {name}"));
        self.span.record("db.namespace", db);
        self.span.record("db.collection.name", name);
    }

    fn note_failure(&self, name: &str, code: Option<i32>) {
        self.span.record("otel.status_code", "ERROR");
        self.span.record("error.type", name);
        if let Some(code) = code {
            self.span
                .record("db.response.status_code", code.to_string());
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.span.record("bucket.round_trips", self.round_trips);
        self.span.record("bucket.tries", self.tries);
    }
}

/// A request of the driver, carried out in a span.
///
/// Not `instrument`, which would keep the span from ending before the request: a call has its
/// answer sooner than others that share its command.
pub struct SpannedRequest<F> {
    calls: Calls,
    request: F,
}

impl<F: Future + Unpin> Future for SpannedRequest<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { calls, request } = self.get_mut();
        calls.in_span(|| Pin::new(request).poll(context))
    }
}

/// The calls for which a task works, each `None` after its end.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<[Arc<Mutex<Option<OpenCall>>>]>);

fn lock(call: &Mutex<Option<OpenCall>>) -> MutexGuard<'_, Option<OpenCall>> {
    call.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Calls {
    fn each_open(&self, mut act: impl FnMut(&mut OpenCall)) {
        for call in &*self.0 {
            if let Some(call) = &mut *lock(call) {
                act(call);
            }
        }
    }

    pub fn current() -> Self {
        CURRENT.try_with(Self::clone).unwrap_or_default()
    }

    /// The calls that share a command.
    pub fn of_all<'c>(all: impl Iterator<Item = &'c Self>) -> Self {
        Self(all.flat_map(|calls| &*calls.0).cloned().collect())
    }

    /// Work that counts for these calls, in any task.
    pub fn carry<F: Future>(self, work: F) -> TaskLocalFuture<Self, F> {
        CURRENT.scope(self, work)
    }

    /// A request of the driver for these calls. Its spans are children of the first call's, to
    /// which the others are linked.
    pub(crate) fn within<F>(self, request: F) -> SpannedRequest<F> {
        if let Some(first) = self.first_span() {
            self.each_open(|call| {
                // OpenTelemetry would wait for ever on a link of a span to itself.
                if call.span.id() != first.id() {
                    call.span.follows_from(&first);
                }
            });
        }
        let calls = self;
        SpannedRequest { calls, request }
    }

    fn first_span(&self) -> Option<Span> {
        let span = |call| lock(call).as_ref().map(|call| call.span.clone());
        self.0.iter().map(|call| &**call).find_map(span)
    }

    /// Does some work in the span of the first call that has not ended.
    fn in_span<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.first_span() {
            Some(span) => span.in_scope(work),
            None => work(),
        }
    }

    /// Counts a round trip for these calls.
    pub(crate) fn count_round_trip(&self) {
        self.each_open(|call| call.round_trips += u64::from(!call.is_answered));
    }

    /// Counts a further try for these calls.
    pub(crate) fn again(&self) {
        self.each_open(|call| call.tries += u64::from(!call.is_answered));
    }

    /// Awaits the next row of a cursor, and counts a round trip unless the row is there already.
    pub(crate) async fn next_row<F: Future>(&self, row: F) -> F::Output {
        let mut row = pin!(row);
        if let Some(row) = self.in_span(|| row.as_mut().now_or_never()) {
            return row;
        }
        self.count_round_trip();
        row.await
    }

    /// Records the collection and the key in the span of each call that has named none before.
    pub(crate) fn name_target(&self, collection: &Collection<Document>, scope: Option<&KeyScope>) {
        self.each_open(|call| {
            if call.is_named {
                return;
            }
            call.name(&collection.namespace().to_string());
            if let Some(scope) = scope {
                call.span.record("bucket.key", scope.label());
            }
        });
    }

    /// Notes an error of the server while these calls read a stream.
    pub(crate) fn note_failure(&self, error: &DriverError) {
        self.each_open(|call| call.note_failure(&type_of(error), code_of(error)));
    }

    /// Ends the counting for these calls, which have their answers: the task goes on for others.
    pub fn are_answered(&self) {
        self.each_open(|call| call.is_answered = true);
    }
}

//! What is counted for one call.

use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use mongodb::{Collection, bson::Document};
use tracing::Span;

use crate::protocol::command::KeyScope;

/// A call, from its beginning to the end of what it returned.
#[derive(Debug)]
pub(super) struct CountedCall {
    /// `None` after the end.
    span: Mutex<Option<Span>>,
    named: OnceLock<()>,
    pub(super) is_answered: AtomicBool,
    pub(super) round_trips: AtomicU64,
    pub(super) repeats: AtomicU64,
}

impl CountedCall {
    pub(super) fn new(span: Span) -> Self {
        Self {
            span: Mutex::new(Some(span)),
            named: OnceLock::new(),
            is_answered: AtomicBool::default(),
            round_trips: AtomicU64::default(),
            repeats: AtomicU64::default(),
        }
    }

    pub(super) fn span(&self) -> MutexGuard<'_, Option<Span>> {
        self.span.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the span, unless it has ended.
    pub(super) fn with_span(&self, act: impl FnOnce(&Span)) {
        if let Some(span) = &*self.span() {
            act(span);
        }
    }

    /// Counts one more, until the call is answered.
    pub(super) fn add(&self, counter: &AtomicU64) {
        if !self.is_answered.load(Relaxed) {
            counter.fetch_add(1, Relaxed);
        }
    }

    /// Whether the span has the name of its collection.
    pub(super) fn is_named(&self) -> bool {
        self.named.get().is_some()
    }

    /// Records the collection and the key in the span, unless the call has named others before.
    pub(super) fn name_target(&self, collection: &Collection<Document>, scope: Option<&KeyScope>) {
        if self.named.set(()).is_err() {
            return;
        }
        self.with_span(|span| {
            let name = span.metadata().map_or("", |span| span.name());
            span.record("otel.name", format!("{name} {}", collection.name()));
            span.record("db.namespace", &*collection.namespace().db);
            span.record("db.collection.name", collection.name());
            if let Some(scope) = scope {
                span.record("bucket.key", scope.label());
            }
        });
    }

    pub(super) fn note_failure(&self, name: &str, code: Option<i32>) {
        self.with_span(|span| {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", name);
            if let Some(code) = code {
                span.record("db.response.status_code", code.to_string());
            }
        });
    }

    /// Tells the counts, and ends the span.
    pub(super) fn end(&self) {
        let Some(span) = self.span().take() else {
            return;
        };
        span.record("bucket.round_trips", self.round_trips.load(Relaxed));
        span.record("bucket.tries", 1 + self.repeats.load(Relaxed));
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        self.end();
    }
}

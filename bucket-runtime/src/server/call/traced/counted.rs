//! What is counted for one call.

use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use mongodb::{Collection, Namespace, bson::Document, options::ServerAddress};
use tracing::Span;

use super::NamedSpan;
use crate::protocol::command::KeyScope;

/// The port of an address without one.
const DEFAULT_PORT: u16 = 27017;

/// A call, from its beginning to the end of what it returned.
#[derive(Debug)]
pub(super) struct CountedCall {
    pub(super) name: &'static str,
    /// `None` after the end, and if nobody wants it.
    span: Mutex<Option<Span>>,
    pub(super) collection: OnceLock<Namespace>,
    /// The server that a connection was last taken to.
    server: Mutex<Option<ServerAddress>>,
    pub(super) is_answered: AtomicBool,
    pub(super) items: AtomicU64,
    pub(super) rows: AtomicU64,
    pub(super) batch: AtomicU64,
    pub(super) round_trips: AtomicU64,
    pub(super) repeats: AtomicU64,
    pub(super) bytes: AtomicU64,
    #[cfg(feature = "metrics")]
    pub(super) clock: super::meters::Clock,
}

impl CountedCall {
    pub(super) fn new((name, span): &NamedSpan) -> Self {
        Self {
            name,
            span: Mutex::new((!span.is_disabled()).then(|| span.clone())),
            collection: OnceLock::new(),
            server: Mutex::default(),
            is_answered: AtomicBool::default(),
            items: AtomicU64::default(),
            rows: AtomicU64::default(),
            batch: AtomicU64::default(),
            round_trips: AtomicU64::default(),
            repeats: AtomicU64::default(),
            bytes: AtomicU64::default(),
            #[cfg(feature = "metrics")]
            clock: super::meters::Clock::start(),
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

    pub(super) fn add(&self, counter: &AtomicU64, n: u64) {
        if !self.is_answered.load(Relaxed) {
            counter.fetch_add(n, Relaxed);
        }
    }

    /// Records the collection and the key in the span, unless the call has named others before.
    pub(super) fn name_target(&self, collection: &Collection<Document>, scope: Option<&KeyScope>) {
        if self.collection.get().is_some() || self.collection.set(collection.namespace()).is_err() {
            return;
        }
        self.with_span(|span| {
            span.record("otel.name", format!("{} {}", self.name, collection.name()));
            span.record("db.namespace", &*collection.namespace().db);
            span.record("db.collection.name", collection.name());
            if let Some(scope) = scope {
                span.record("bucket.key", scope.label());
            }
        });
    }

    pub(super) fn name_server(&self, address: &ServerAddress) {
        if !self.is_answered.load(Relaxed) {
            *self.lock_server() = Some(address.clone());
        }
    }

    fn lock_server(&self) -> MutexGuard<'_, Option<ServerAddress>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host, or the path of a socket, and the port of the server that a connection was last taken to.
    pub(super) fn server(&self) -> Option<(String, Option<u16>)> {
        Some(match self.lock_server().as_ref()? {
            ServerAddress::Tcp { host, port } => (host.clone(), Some(port.unwrap_or(DEFAULT_PORT))),
            socket => (socket.to_string(), None),
        })
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
        let span = self.span().take();
        #[cfg(feature = "metrics")]
        super::meters::measure(self);
        let Some(span) = span else { return };
        let items = self.items.load(Relaxed);
        let batch = self.batch.load(Relaxed);
        // By the conventions, a single item is not a batch.
        if batch > 1 {
            span.record("db.operation.batch.size", batch);
        }
        if let Some((host, port)) = self.server() {
            span.record("server.address", host);
            span.record("server.port", port);
        }
        let rows = self.rows.load(Relaxed);
        span.record("db.response.returned_rows", items + rows);
        span.record("bucket.items", items);
        span.record("bucket.round_trips", self.round_trips.load(Relaxed));
        span.record("bucket.tries", 1 + self.repeats.load(Relaxed));
        span.record("bucket.bytes", self.bytes.load(Relaxed));
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        self.end();
    }
}

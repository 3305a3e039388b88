//! The calls for which a task works, and what `tracing` tells of each: a span, and events.
//!
//! While a call runs, it is a task-local value, so whatever it sends counts for it without a further
//! parameter. A task that works for calls of other tasks carries them. Without the feature `tracing` all
//! this is empty.

#[cfg(not(feature = "tracing"))]
mod silent;
#[cfg(feature = "tracing")]
mod traced;

#[cfg(not(feature = "tracing"))]
pub(crate) use silent::{Calls, Span, run, span, stream};
#[cfg(feature = "tracing")]
pub(crate) use traced::{Calls, run, span, stream};

use super::Server;
use crate::protocol::command::KeyScope;

/// Why a call does something again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Again {
    /// Another writer was faster.
    LostRace,
    /// The connection broke, or the server was interrupted.
    Interrupted,
    /// The index was dropped meanwhile, or does not exist yet.
    NoIndex,
}

/// The current call has to do something again.
pub(crate) fn again(again: Again) {
    Calls::current().again(again);
}

/// The current call stores, changes, removes or returns so many items.
pub(crate) fn items(items: usize) {
    Calls::current().items(items as u64);
}

/// The current call sends items of so many bytes.
pub(crate) fn bytes(bytes: impl FnOnce() -> usize) {
    Calls::current().bytes(bytes);
}

impl Server {
    /// Whether spans name keys.
    pub(crate) fn tracing_keys(mut self, trace: bool) -> Self {
        self.traces_keys = trace;
        self
    }

    /// Sends a request, which counts as a round trip of the calls for which this task works.
    pub(super) fn ask<R: IntoFuture>(&self, request: R) -> R::IntoFuture {
        Calls::current().request(&self.collection);
        request.into_future()
    }

    /// The current call is about this collection, and about this key if there is one.
    pub(crate) fn called_for(&self, scope: Option<&KeyScope>) {
        Calls::current().are_about(&self.collection, scope.filter(|_| self.traces_keys));
    }
}

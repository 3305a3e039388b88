//! The calls for which a task works, and what `tracing` tells of each: a span, and events.
//!
//! While a call runs, it is a task-local value, so its requests count for it without a further parameter.
//! A task that works for calls of other tasks carries them. Without the feature `tracing` all this is
//! empty.

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

/// The reason why a call repeats a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Again {
    /// Another writer was faster.
    LostRace,
    /// The connection broke, or the server was interrupted.
    Interrupted,
    /// The index was dropped meanwhile, or does not exist yet.
    NoIndex,
}

/// Counts a repetition for the current call, with its reason.
pub(crate) fn again(again: Again) {
    Calls::current().again(again);
}

/// Counts items that the current call stores, changes, removes or returns.
pub(crate) fn items(items: usize) {
    Calls::current().items(items as u64);
}

/// Counts bytes of items that the current call sends.
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

    /// Names the collection and, if given, the key that the current call concerns.
    pub(crate) fn called_for(&self, scope: Option<&KeyScope>) {
        Calls::current().name_target(&self.collection, scope.filter(|_| self.traces_keys));
    }
}

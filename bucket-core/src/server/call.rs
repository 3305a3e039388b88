//! The calls for which a task works, and what `tracing` tells of each in a span.
//!
//! With the feature `tracing`, each call runs in a span (`server/call/traced.rs`). OpenTelemetry
//! begins a span when it is entered, and then keeps its name. So a call enters its span once its
//! collection is known, which the first target of its requests names (`server/target.rs`), and each
//! request of the driver is carried out in the span of its call, in whichever task.
//!
//! The call is a task-local value meanwhile: `Server::ask`, through which every request goes,
//! counts for it, and so does the pause before a further try (`server/pause.rs`). A cursor keeps
//! the call, since it is read when the call has returned its stream. An append that waits for
//! others takes its call along in the queue; whoever sends a command does so for the calls of all
//! that the command carries, until each of them is answered. Without the feature
//! `server/call/silent.rs` has the same functions, and they do nothing.

#[cfg(not(feature = "tracing"))]
mod silent;
#[cfg(feature = "tracing")]
mod traced;

#[cfg(not(feature = "tracing"))]
pub use silent::{Calls, Span, SpannedRequest, run};
#[cfg(feature = "tracing")]
pub use traced::{Calls, Span, SpannedRequest, run};

pub use crate::span;
use crate::{protocol::command::KeyScope, server::Server};
#[cfg(feature = "tracing")]
pub use tracing;

/// Counts a further try of the current call.
pub(in crate::server) fn again() {
    Calls::current().again();
}

/// Work of the current call for a task of its own.
pub fn in_task<F: Future>(work: F) -> impl Future<Output = F::Output> + use<F> {
    Calls::current().carry(work)
}

impl Server {
    /// Whether spans name keys.
    pub fn tracing_keys(mut self, trace: bool) -> Self {
        self.traces_keys = trace;
        self
    }

    /// Sends a request, which counts as a round trip of the calls for which this task works.
    pub(in crate::server) fn ask<R: IntoFuture>(
        &self,
        request: R,
    ) -> SpannedRequest<R::IntoFuture> {
        let calls = Calls::current();
        calls.name_target(&self.collection, None);
        calls.count_round_trip();
        calls.within(request.into_future())
    }

    /// Names the collection that the current call concerns, unless it is known, and the key if it is
    /// one alone. A call of many keys does so before it makes a target of one of them.
    pub fn name_call(&self, scope: Option<&KeyScope>) {
        Calls::current().name_target(&self.collection, scope.filter(|_| self.traces_keys));
    }
}

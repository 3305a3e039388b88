//! Requests of the driver, each in the span of a call.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tracing::Span;

use super::Calls;

/// A request of the driver, carried out in a span.
///
/// Not `instrument`, which would keep the span from ending before the request: a call has its answer sooner than others
/// that share its command.
pub(crate) struct SpannedRequest<F> {
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

impl Calls {
    /// A request of the driver for these calls. Its spans are children of the first call's, to which the others
    /// are linked.
    pub(crate) fn within<F>(self, request: F) -> SpannedRequest<F> {
        if let Some(first) = self.first_span() {
            for call in &*self.0 {
                call.with_span(|span| {
                    // OpenTelemetry would wait for ever on a link of a span to itself.
                    if span.id() != first.id() {
                        span.follows_from(&first);
                    }
                });
            }
        }
        SpannedRequest {
            calls: self,
            request,
        }
    }

    /// The span of the first call that has not ended.
    fn first_span(&self) -> Option<Span> {
        self.0.iter().find_map(|call| call.span().clone())
    }

    /// Does some work in the span of the first call that has not ended.
    pub(super) fn in_span<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.first_span() {
            Some(span) => span.in_scope(work),
            None => work(),
        }
    }
}

//! Without the feature `tracing`: nothing.

use mongodb::{Collection, bson::Document, error::Error as DriverError};

use crate::protocol::command::KeyScope;

/// Begins the span of a call.
#[macro_export]
#[doc(hidden)]
macro_rules! span {
    ($name:ident) => {
        || $crate::server::call::Span
    };
}

/// A span that records nothing.
pub struct Span;

pub fn run<F>(_: fn() -> Span, call: F, _: bool) -> F {
    call
}

/// A request of the driver.
pub type SpannedRequest<F> = F;

/// The calls for which a task works.
#[derive(Debug, Clone, Default)]
pub struct Calls;

impl Calls {
    pub fn current() -> Self {
        Self
    }

    pub fn of_all<'c>(_: impl Iterator<Item = &'c Self>) -> Self {
        Self
    }

    pub fn carry<F: Future>(self, work: F) -> F {
        work
    }

    pub(crate) fn within<F>(self, request: F) -> SpannedRequest<F> {
        request
    }

    pub(crate) fn next_row<F>(&self, row: F) -> F {
        row
    }

    pub(crate) fn count_round_trip(&self) {}

    pub(crate) fn name_target(&self, _: &Collection<Document>, _: Option<&KeyScope>) {}

    pub(crate) fn again(&self) {}

    pub(crate) fn note_failure(&self, _: &DriverError) {}

    pub fn are_answered(&self) {}
}

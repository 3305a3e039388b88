//! The calls of a schedule, which run beside each other.

use std::{future::Future, panic::resume_unwind, pin::Pin};

use tokio::task::JoinSet;

#[derive(Default)]
pub(crate) struct Calls(JoinSet<()>);

impl Calls {
    pub(crate) fn spawn(&mut self, call: impl Future<Output = ()> + Send + 'static) {
        // Boxed, since the compiler makes a task of its own for each type of future.
        let call: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(call);
        self.0.spawn(call);
    }

    /// Waits for all of them.
    pub(crate) async fn join(&mut self) {
        while let Some(done) = self.0.join_next().await {
            if let Err(panic) = done {
                resume_unwind(panic.into_panic());
            }
        }
    }
}

//! Tasks of a test. The simulation has this file, too.

use std::{
    future::Future,
    ops::{Deref, DerefMut},
    pin::Pin,
};

/// Tokio's, but with boxed futures: the compiler would make a task for each type of future.
pub(crate) struct JoinSet<T>(tokio::task::JoinSet<T>);

impl<T: Send + 'static> JoinSet<T> {
    pub(crate) fn new() -> Self {
        Self(tokio::task::JoinSet::new())
    }

    pub(crate) fn spawn(&mut self, task: impl Future<Output = T> + Send + 'static) {
        let task: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(task);
        self.0.spawn(task);
    }

    pub(crate) async fn join_all(self) -> Vec<T> {
        self.0.join_all().await
    }
}

impl<T> Deref for JoinSet<T> {
    type Target = tokio::task::JoinSet<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> DerefMut for JoinSet<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

//! Following the collection's capacity, which another process may change.

use std::{sync::PoisonError, time::Duration};

use tokio::time::Instant;

use super::{Batch, Engine, Tail};
use crate::{BucketSpec, Error, Result, error::Kind, indexes, open_index::OpenIndex};

/// How long an index that is not there is waited for: who changes the capacity makes it anew.
const PATIENCE: Duration = Duration::from_secs(3);

/// The pause before it is looked for again.
const PAUSE: Duration = Duration::from_millis(20);

/// Until when an index is waited for, once it was found missing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Patience(Option<Instant>);

impl Patience {
    fn is_over(&mut self) -> bool {
        let now = Instant::now();
        now >= *self.0.get_or_insert(now + PATIENCE)
    }
}

impl Engine {
    /// The collection's open index, as far as is known.
    pub(crate) fn open(&self) -> OpenIndex {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the batch go by the capacity that is known by now.
    pub(super) fn follow(&self, batch: &mut Batch) {
        let open = self.open();
        if batch.scope.open != open {
            batch.scope.open = open;
            batch.tail = Tail::Unknown;
        }
    }

    /// Waits until the open index is there, and goes by its capacity from then on. A command was
    /// refused with this error, which it is again if the index does not come.
    pub(crate) async fn await_index(
        &self,
        spec: &BucketSpec,
        patience: &mut Patience,
        error: Error,
    ) -> Result<()> {
        loop {
            if patience.is_over() {
                return Err(error);
            }
            if self.find_index(spec).await? {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The same for a command that may be in a session. A transaction is aborted then; the next one
    /// will know.
    pub(crate) async fn follow_index(
        &self,
        spec: &BucketSpec,
        patience: &mut Patience,
        error: Error,
        is_in_session: bool,
    ) -> Result<()> {
        if is_in_session {
            let _ = self.find_index(spec).await;
            return Err(error);
        }
        self.await_index(spec, patience, error).await
    }

    /// Reads which capacity the collection has; tells whether there is an open index.
    pub(super) async fn find_index(&self, spec: &BucketSpec) -> Result<bool> {
        let server = &self.server;
        let fail = |kind: Kind| Error::new(kind, server.name());
        let found = server.indexes().await;
        let found = found.map_err(|error| Error::read(error, server.name()))?;
        let open = indexes::open_index(&found, spec).map_err(fail)?;
        if let Some(open) = open {
            *self.open.lock().unwrap_or_else(PoisonError::into_inner) = open;
        }
        Ok(open.is_some())
    }
}

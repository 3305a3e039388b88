//! A collection's open index as last read. Another process may change the capacity, and the index with
//! it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    Error, Result,
    error::Kind,
    protocol::indexes,
    schema::{open_index::OpenIndex, spec::BucketSpec},
    server::Server,
};

/// How long a call waits for a missing index: a change of the capacity drops it before it creates the
/// next one.
const MAX_WAIT_FOR_INDEX: Duration = Duration::from_secs(3);

/// The pause before the next look for the index.
const PAUSE_BETWEEN_READS: Duration = Duration::from_millis(20);

/// A collection's open index, as it was last read. All clones of a handle share it.
#[derive(Debug, Clone)]
pub(crate) struct CurrentIndex {
    server: Server,
    last_read: Arc<Mutex<OpenIndex>>,
}

/// When a call stops waiting for a missing index; set by the first look for it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IndexDeadline(Option<Instant>);

impl IndexDeadline {
    fn is_over(&mut self) -> bool {
        let now = Instant::now();
        now >= *self.0.get_or_insert(now + MAX_WAIT_FOR_INDEX)
    }
}

impl CurrentIndex {
    pub(crate) fn new(server: Server, index: OpenIndex) -> Self {
        Self {
            server,
            last_read: Arc::new(Mutex::new(index)),
        }
    }

    /// The index as it was last read.
    pub(crate) fn get(&self) -> OpenIndex {
        *self.last_read()
    }

    /// Reads the index again, for what plans whole buckets and looks for none: since the handle was opened, the capacity
    /// may have changed. One round trip.
    pub(crate) async fn refresh(&self, spec: &BucketSpec) -> Result<()> {
        self.read(spec).await.map(drop)
    }

    /// Waits until the collection has an open index. `error` is the reason for the wait, a refused
    /// command, and is returned if no index appears in time.
    pub(crate) async fn wait(
        &self,
        spec: &BucketSpec,
        deadline: &mut IndexDeadline,
        error: Error,
    ) -> Result<()> {
        loop {
            if deadline.is_over() {
                return Err(error);
            }
            if self.read(spec).await? {
                return Ok(());
            }
            tokio::time::sleep(PAUSE_BETWEEN_READS).await;
        }
    }

    /// Waits as [`wait`](Self::wait) does, but not in a session: the refused command may have aborted
    /// its transaction. The next transaction uses the new index.
    pub(crate) async fn wait_unless_in_session(
        &self,
        spec: &BucketSpec,
        deadline: &mut IndexDeadline,
        error: Error,
        is_in_session: bool,
    ) -> Result<()> {
        if is_in_session {
            let _ = self.read(spec).await;
            return Err(error);
        }
        self.wait(spec, deadline, error).await
    }

    /// Reads the collection's indexes; returns whether the open index is among them.
    async fn read(&self, spec: &BucketSpec) -> Result<bool> {
        let target = self.server.target();
        let open = indexes::open_index(&target.indexes().await?, spec);
        let open = open.map_err(|kind: Kind| target.error(kind))?;
        if let Some(open) = open {
            *self.last_read() = open;
        }
        Ok(open.is_some())
    }

    fn last_read(&self) -> MutexGuard<'_, OpenIndex> {
        self.last_read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

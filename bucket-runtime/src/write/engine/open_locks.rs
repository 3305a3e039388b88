//! Locks that let the tasks of a handle open buckets of one key one after the other.

use std::{hash::BuildHasher, sync::Arc};

use tokio::sync::{Mutex, MutexGuard};

use crate::write::chance::RandomState;

/// Lets the tasks of a handle open buckets of a key one after the other.
///
/// Correctness does not depend on it. But opening a bucket takes a read and a write, and of all
/// tasks that do this at once for one key only one succeeds; the others would waste their round
/// trips.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenLocks(Arc<(RandomState, [Mutex<()>; 32])>);

impl OpenLocks {
    /// Waits for the lock of this key. Keys that share a lock only wait a little longer.
    pub(super) async fn wait(&self, key: &str) -> MutexGuard<'_, ()> {
        let (hasher, locks) = &*self.0;
        locks[hasher.hash_one(key) as usize % locks.len()]
            .lock()
            .await
    }
}

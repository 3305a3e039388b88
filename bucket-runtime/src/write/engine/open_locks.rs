//! Locks that let the tasks of a handle open buckets of one key one after the other.

use std::{
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::Arc,
};

use tokio::sync::{Mutex, MutexGuard};

/// Lets the tasks of a handle open buckets of a key one after the other.
///
/// Correctness does not depend on it. But opening a bucket takes a read and a write, and of all
/// tasks that do this at once for one key only one succeeds; the others would waste their round
/// trips.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenLocks(Arc<[Mutex<()>; 32]>);

impl OpenLocks {
    /// Waits for the lock of this key. Keys that share a lock only wait a little longer.
    pub(super) async fn wait(&self, key: &str) -> MutexGuard<'_, ()> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
        self.0[hash as usize % self.0.len()].lock().await
    }
}

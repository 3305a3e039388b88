//! Who may open a bucket of a key next.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use tokio::sync::{Mutex, MutexGuard};

/// Lets the tasks of a handle open buckets of a key one after the other.
///
/// Nothing depends on it for its correctness. But opening a bucket takes a read and a write, and
/// of all who do that at once for one key a single one succeeds; the others would try in vain.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenLocks(Arc<(RandomState, [Mutex<()>; 32])>);

impl OpenLocks {
    /// Waits until it is this key's turn; keys that share a lock merely wait a little longer.
    pub(super) async fn wait(&self, key: &str) -> MutexGuard<'_, ()> {
        let (hasher, locks) = &*self.0;
        locks[hasher.hash_one(key) as usize % locks.len()]
            .lock()
            .await
    }
}

//! The parents that a handle knows to be outliers.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The number of parents that are remembered at most. Outliers are few; if there are more, some
/// pushes take one more round trip.
const MAX_KNOWN: usize = 10_000;

/// The ids of parents that a handle has seen to have extras, which only saves a round trip.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownOutliers(Arc<Mutex<HashSet<String>>>);

impl KnownOutliers {
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.set().contains(id)
    }

    pub(crate) fn remember(&self, id: &str) {
        let mut set = self.set();
        if set.len() >= MAX_KNOWN {
            set.clear();
        }
        set.insert(id.to_owned());
    }

    pub(crate) fn forget(&self, id: &str) {
        self.set().remove(id);
    }

    fn set(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

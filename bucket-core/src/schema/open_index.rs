//! The name of the index `bucket_open` and the capacity that it enforces.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use crate::schema::names::OPEN_INDEX;

/// A collection's open index.
///
/// Its name changes with the capacity (`bucket_open`, later `bucket_open_25`), and every command
/// that depends on the capacity names it as a hint, but those that fill a remembered bucket by its
/// id. So the server refuses a writer that does not know the new capacity. The bound in the index's
/// filter is not enough: with a hint, the server uses an index even if its bound is below the one
/// in the query's filter, and misses the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenIndex {
    pub name: &'static str,
    pub capacity: u32,
}

impl OpenIndex {
    /// The index as it is when the collection is first opened.
    pub const fn first(capacity: u32) -> Self {
        Self {
            name: OPEN_INDEX,
            capacity,
        }
    }

    /// The index after a change to this capacity.
    pub fn changed_to(capacity: u32) -> Self {
        let name = named_after(capacity);
        Self { name, capacity }
    }

    /// The index found under this name; `None` if an open index cannot have that name.
    pub(crate) fn found(name: &str, capacity: u32) -> Option<Self> {
        let names = [Self::first(capacity), Self::changed_to(capacity)];
        names.into_iter().find(|index| index.name == name)
    }

    /// The capacity as a 32-bit integer, as the shell would write it; `MAX_CAPACITY` is far below
    /// the limit.
    pub fn bound(self) -> i32 {
        i32::try_from(self.capacity).unwrap_or(i32::MAX)
    }
}

/// Whether an index of this name is the open index, for any capacity.
pub(crate) fn is_open_index(name: &str) -> bool {
    name.strip_prefix(OPEN_INDEX).is_some_and(|rest| {
        let digits = rest.strip_prefix('_');
        rest.is_empty() || digits.is_some_and(|digits| digits.parse::<u32>().is_ok())
    })
}

/// The name with the capacity in it, leaked on purpose: a program needs only a few of them.
fn named_after(capacity: u32) -> &'static str {
    static NAMES: Mutex<BTreeMap<u32, &'static str>> = Mutex::new(BTreeMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names
        .entry(capacity)
        .or_insert_with(|| format!("{OPEN_INDEX}_{capacity}").leak())
}

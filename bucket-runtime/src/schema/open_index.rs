//! The index `bucket_open` of a collection: under which name, and for which capacity.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use crate::schema::names::OPEN_INDEX;

/// The open index as a collection has it.
///
/// Its name changes with the capacity (`bucket_open`, later `bucket_open_25`), and every command that
/// depends on the capacity names it as a hint. So the server refuses whoever does not know that the
/// capacity has changed. The bound alone would not do: by a hint the server goes through an index
/// whose bound lies below what the filter asks for, and leaves out the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenIndex {
    pub(crate) name: &'static str,
    pub(crate) capacity: u32,
}

impl OpenIndex {
    /// As opening a collection makes it.
    pub(crate) const fn first(capacity: u32) -> Self {
        Self {
            name: OPEN_INDEX,
            capacity,
        }
    }

    /// As it is after the capacity was changed to this one.
    pub(crate) fn changed_to(capacity: u32) -> Self {
        let name = named_after(capacity);
        Self { name, capacity }
    }

    /// One that was found under this name; `None` if that is not its name.
    pub(crate) fn found(name: &str, capacity: u32) -> Option<Self> {
        let names = [Self::first(capacity), Self::changed_to(capacity)];
        names.into_iter().find(|index| index.name == name)
    }

    /// The capacity as 32 bits, as the shell would write it; `MAX_CAPACITY` is far below the limit.
    pub(crate) fn bound(self) -> i32 {
        i32::try_from(self.capacity).unwrap_or(i32::MAX)
    }
}

/// Whether an index of this name is the open index, for whichever capacity.
pub(crate) fn is_open_index(name: &str) -> bool {
    name.strip_prefix(OPEN_INDEX).is_some_and(|rest| {
        let digits = rest.strip_prefix('_');
        rest.is_empty() || digits.is_some_and(|digits| digits.parse::<u32>().is_ok())
    })
}

/// The name that tells the capacity, which lives as long as the program: there are few of them.
fn named_after(capacity: u32) -> &'static str {
    static NAMES: Mutex<BTreeMap<u32, &'static str>> = Mutex::new(BTreeMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names
        .entry(capacity)
        .or_insert_with(|| format!("{OPEN_INDEX}_{capacity}").leak())
}

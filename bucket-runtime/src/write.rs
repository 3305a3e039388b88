//! Writing: appends, loads, edits, removals.

pub(crate) mod append;
pub(crate) mod append_or_get;
pub(crate) mod appended;
pub(crate) mod bulk;
pub(crate) mod caller;
pub(crate) mod combine;
pub(crate) mod edit;
pub(crate) mod engine;
pub(crate) mod item;
pub(crate) mod remove_key;

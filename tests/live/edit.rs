//! Edits and removals.

pub(crate) mod edits;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod edits_many;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod edits_races;
pub(crate) mod edits_raw;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod edits_sessions;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod edits_unique;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod remove_key;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod upsert;

//! Edits and removals.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod many;
pub(crate) mod raw;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod remove_key;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod sessions;
pub(crate) mod single;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod unique;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod upsert;

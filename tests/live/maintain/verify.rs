//! `verify` and `repair`.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod damage;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod listed;
pub(crate) mod opening;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod race;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod rollups;

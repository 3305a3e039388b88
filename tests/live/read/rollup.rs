//! Rollups.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod filtered;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod kept;
pub(crate) mod limits;

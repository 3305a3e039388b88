//! Export and import.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod returns;
pub(crate) mod round_trip;

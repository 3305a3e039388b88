//! The manual's own commands beside the library's.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod race;
pub(crate) mod walk;

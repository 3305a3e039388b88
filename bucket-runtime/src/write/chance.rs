//! The chance in hash maps, which a simulation takes away, so that a seed always gives the same
//! run.

#[cfg(not(feature = "__simulated"))]
pub(crate) use std::hash::RandomState;

/// Hashes the same in each run, so that a map has the same order.
#[cfg(feature = "__simulated")]
pub(crate) type RandomState = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

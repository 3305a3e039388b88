//! Structs that several tests use, with each ordinal and several capacities: one for each, since a type
//! fixes both.

pub(crate) mod entries;
pub(crate) mod ticks;

//! Pure functions from facts to a verdict.

pub(super) mod arrays;
pub(super) mod buckets;
pub(super) mod flat;

//! Conditions on fields inside of values.

pub(crate) mod conditions;
pub(crate) mod lists;

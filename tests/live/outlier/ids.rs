//! The ids of parents.

pub(crate) mod texts;
pub(crate) mod types;

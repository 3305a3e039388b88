//! Writes of which the reply does not say whether they were stored.

pub(crate) mod codes;
pub(crate) mod half;
pub(crate) mod support;

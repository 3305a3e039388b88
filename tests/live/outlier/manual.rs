//! The manual's page on the outlier pattern.

pub(crate) mod page;
pub(crate) mod taken_over;

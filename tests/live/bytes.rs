//! Buckets stay within their size limit.

pub(crate) mod bounds;
pub(crate) mod capacity;
pub(crate) mod proof;

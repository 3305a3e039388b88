//! Buckets stay within their size limit.

pub(crate) mod bounds;
pub(crate) mod bytes_capacity;
pub(crate) mod bytes_proof;

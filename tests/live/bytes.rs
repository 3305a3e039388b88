//! Buckets stay within their bytes.

pub(crate) mod bounds;
pub(crate) mod bytes_capacity;
pub(crate) mod bytes_proof;

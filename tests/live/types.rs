//! Types of keys and fields.

pub(crate) mod round_trip;
pub(crate) mod types_binary;
pub(crate) mod types_keys;
pub(crate) mod types_values;
pub(crate) mod versions;

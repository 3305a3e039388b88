//! Types of keys and fields.

pub(crate) mod binary;
pub(crate) mod flattened;
pub(crate) mod keys;
pub(crate) mod read_back;
pub(crate) mod round_trip;
pub(crate) mod values;
pub(crate) mod versions;

//! Loads: `append_many`, and flat collections.

pub(crate) mod bulk;
pub(crate) mod import_flat;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod nothing;

//! Loads: `append_many`, and flat collections.

pub(crate) mod bulk;
pub(crate) mod bulk_cut;
pub(crate) mod bulk_failed;
pub(crate) mod bulk_keys;
pub(crate) mod bulk_stream;
pub(crate) mod import_flat;

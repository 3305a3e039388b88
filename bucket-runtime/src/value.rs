//! Values as BSON and back: items' elements, stored buckets, rollups.

pub(crate) mod bucket_fields;
pub(crate) mod bytes;
pub(crate) mod direct;
pub(crate) mod element;
pub(crate) mod exact;
pub(crate) mod fingerprint;
pub(crate) mod json;
pub(crate) mod missing_field;
pub(crate) mod raw_field;
pub(crate) mod read_back;
pub(crate) mod rollup;
pub(crate) mod shell;
pub(crate) mod unreadable;
pub(crate) mod unwound;

//! Values as BSON and back: items' elements, stored buckets, rollups.

pub mod bucket_fields;
pub mod bytes;
pub mod direct;
pub mod element;
pub mod exact;
pub mod fingerprint;
pub mod missing_field;
pub mod number;
pub mod raw_field;
pub mod read_back;
pub mod rollup;
pub mod shell;
pub mod unreadable;
pub mod unwound;

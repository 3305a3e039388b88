//! Values as BSON and back: an item's element, a stored bucket, rollups.

pub(crate) mod bytes;
pub(crate) mod element;
pub(crate) mod rollup;
pub(crate) mod stored_bucket;
pub(crate) mod unreadable;

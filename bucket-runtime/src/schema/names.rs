//! The names of the indexes and of the fields that are not the struct's to choose.

/// The index that every guarantee stands on: it holds one entry per open or sealed bucket, finds
/// the open one in one step, and lets the server refuse a second open bucket for a key.
pub(crate) const OPEN_INDEX: &str = "bucket_open";

/// The index by which the server removes buckets.
pub(crate) const EXPIRY_INDEX: &str = "bucket_expiry";

/// The index by which each item of a key is stored once, where a field tells them apart.
pub(crate) const UNIQUE_INDEX: &str = "bucket_unique";

/// The field that exists only in a sealed bucket, where it holds the bucket's own `_id`.
pub(crate) const SEALED: &str = "sealed";

/// The field with the time of the newest item, by which buckets expire. A time index over the items
/// themselves would go by the oldest one.
pub(crate) const NEWEST: &str = "newest";

/// The field that exists only in buckets with large items: how many bytes these take beyond their
/// shares; see [`Budget`](crate::protocol::budget::Budget).
pub(crate) const OVERSIZE: &str = "oversize";

//! The names of the indexes, and of the fields that a struct cannot rename.

/// The index behind every guarantee: it holds one entry per open or sealed bucket, finds the open
/// one in one step, and makes the server refuse a second open bucket of one key.
pub const OPEN_INDEX: &str = "bucket_open";

/// The TTL index that makes the server remove expired buckets.
pub(crate) const EXPIRY_INDEX: &str = "bucket_expiry";

/// The name of a `unique` field that stands for the whole item, which is a single value.
pub const WHOLE_ITEM: &str = "";

/// The index that stores each item of a key once, where a `unique` field identifies items.
pub const UNIQUE_INDEX: &str = "bucket_unique";

/// The index of extras that holds none of them, over the name of their parents' total, where they
/// have one.
pub(crate) const TOTAL_INDEX: &str = "outlier_total";

/// The field that only sealed buckets have: it holds the bucket's own `_id`.
pub const SEALED: &str = "sealed";

/// The time of the newest item, by which buckets expire. A TTL index over the items' own times
/// would use the oldest one.
pub const NEWEST: &str = "newest";

/// The field that only buckets with large items have: how many bytes these items take beyond their
/// shares; see [`Budget`](crate::protocol::budget::Budget).
pub const OVERSIZE: &str = "oversize";

/// In a row of a pipeline, the length of the array that the item stands in. No field of a struct
/// has this name.
pub const ROW_LENGTH: &str = "capacity";

/// In a row of a pipeline, whether the bucket is open, or the parent flagged; on the way there,
/// what later stages take apart, such as an item's place in a reversed array. No field of a struct
/// has this name.
pub const ROW_STATE: &str = SEALED;

/// Whether two names are the same, for the compiler.
pub const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_are_compared_as_texts_are(one in "[ab]{0,3}", other in "[ab]{0,3}") {
            prop_assert_eq!(is_same(&one, &other), one == other);
            prop_assert!(is_same(&one, &one.clone()));
        }
    }
}

//! Pure functions from rows to facts.

pub(super) mod capacity;
pub(super) mod fill;
pub(super) mod growth;
pub(super) mod heat;
pub(super) mod keys;
pub(super) mod lateness;

use bucket_runtime::bson::{Bson, Document};

/// A whole number of a row that the server sent; zero if it is missing.
pub(super) fn whole(row: &Document, name: &str) -> u64 {
    let number = match row.get(name) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        Some(Bson::Double(number)) => *number as i64,
        _ => 0,
    };
    u64::try_from(number).unwrap_or(0)
}

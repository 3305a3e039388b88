//! Pure functions from rows to facts.

pub(super) mod capacity;
pub(crate) mod fill;
pub(super) mod growth;
pub(super) mod heat;
pub(super) mod keys;
pub(super) mod lateness;
pub(super) mod lengths;
pub(super) mod threshold;

use bucket_runtime::bson::{Bson, Document, doc};

/// A whole number of a row that the server sent; zero if it is missing.
pub fn whole(row: &Document, name: &str) -> u64 {
    let number = match row.get(name) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        Some(Bson::Double(number)) => *number as i64,
        _ => 0,
    };
    u64::try_from(number).unwrap_or(0)
}

/// The length of an array as an expression; zero for anything else.
pub fn array_length(name: &str) -> Document {
    let array = format!("${name}");
    doc! { "$cond": [{ "$isArray": [&array] }, { "$size": &array }, 0] }
}

/// The value that `percent` of all do not exceed, of pairs of a value and how many have it, in
/// order.
fn quantile(mut groups: impl Iterator<Item = (u64, u64)> + Clone, percent: f64) -> u64 {
    let all: u64 = groups.clone().map(|(_, number)| number).sum();
    let rank = (all as f64 * percent / 100.0).ceil() as u64;
    let mut seen = 0;
    let found = groups.find(|(_, number)| {
        seen += number;
        seen >= rank
    });
    found.map_or(0, |(value, _)| value)
}

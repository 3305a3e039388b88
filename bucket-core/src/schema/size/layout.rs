//! How many bytes BSON takes for names and for array indexes.

/// A field of the document: its type, its name, a NUL, its value.
pub const fn field(name: &str, value: u64) -> u64 {
    2 + name.len() as u64 + value
}

/// The maximum number of digits in the indexes of an array of this length.
pub const fn digits(len: u64) -> u64 {
    let last = if len > 0 { len - 1 } else { 0 };
    match last.checked_ilog10() {
        Some(log) => log as u64 + 1,
        None => 1,
    }
}

/// A number of bytes as a signed integer, so that it can be subtracted from.
pub fn signed(bytes: impl TryInto<i64>) -> i64 {
    bytes.try_into().unwrap_or(i64::MAX)
}

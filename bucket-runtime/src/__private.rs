//! What generated code may name. No part of the public interface: it changes without notice.

pub use mongodb::bson::DateTime;
pub use serde;

/// A capacity that was given as the path of a constant, of whichever integer type.
///
/// # Panics
///
/// At compile time, unless it lies between 1 and [`MAX_CAPACITY`](crate::MAX_CAPACITY).
#[track_caller]
pub const fn capacity(value: i128) -> u32 {
    assert!(
        value >= 1 && value <= crate::MAX_CAPACITY as i128,
        "capacity must be between 1 and 1000000"
    );
    value as u32
}

//! Writes, on a real server, read back by the raw driver.
//!
//! The tests of one binary share a server. With the feature `bson-3` only the tests that depend on how a
//! document is encoded run.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![allow(
    clippy::unnecessary_fallible_conversions,
    reason = "the text of a regex may hold NUL in bson 2 and not in bson 3"
)]
#![cfg_attr(
    feature = "bson-3",
    allow(dead_code, reason = "the others share helpers with these")
)]

mod append;
mod bytes;
mod edit;
mod error;
#[cfg(not(feature = "bson-3"))]
mod guarantees;
#[cfg(not(feature = "bson-3"))]
mod load;
mod support;

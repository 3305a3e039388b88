//! The guarantees on a real server, read back by the raw driver.
//!
//! One binary for all live tests, so that they share one server.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![allow(
    clippy::unnecessary_fallible_conversions,
    reason = "the text of a regex may hold NUL in bson 2 and not in bson 3"
)]

mod errors;
mod errors_items;
mod errors_server;
mod errors_stored;
mod g1_g2_g3_concurrency;
mod g4_keys;
mod g4_texts;
mod g5_creation;
mod g5_order;
mod g6_dropped;
mod manual;
mod manual_race;
mod paging;
mod paging_model;
mod plans;
mod server_claims;
mod sessions;
mod support;
mod transactions;
mod types;
mod types_keys;
mod types_values;

//! The protocols of append and push as a model that is searched exhaustively: whatever is interleaved,
//! lost, repeated or interrupted, the guarantees hold in every state.
//!
//! `server.rs` is the server, `batch.rs` and `outlier.rs` are what the runtime does, with the runtime's
//! names and by its decisions (`next.rs`), and `system.rs` is all that can happen. `replay.rs` keeps the
//! model faithful: it makes the runtime itself take the model's steps on a real server.

#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod batch;
mod bites;
mod gate;
#[path = "../../bucket-runtime/src/protocol/next.rs"]
#[allow(
    dead_code,
    reason = "the model has neither unique fields nor items of unequal size"
)]
mod next;
mod outlier;
mod properties;
mod replay;
mod search;
mod server;
mod stored;
mod system;
mod systems;
mod writer;

use crate::{search::search, system::Config};

/// Searches these systems, and asserts that no state breaks a guarantee.
fn holds(configs: impl IntoIterator<Item = Config>, at_least: usize) {
    let mut states = 0;
    for config in configs {
        let found = search(&config);
        println!("{}: {} states", config.name, found.states);
        assert_eq!(found.counterexample, None, "{config:?}");
        states += found.states;
    }
    println!("{states} states");
    assert!(states >= at_least, "{states} states");
}

#[test]
fn appends_by_number() {
    holds(systems::numbered(), 1_000_000);
}

#[test]
fn appends_by_time() {
    holds(systems::timed(), 1_000_000);
}

#[test]
fn rings_of_busy_keys() {
    holds(systems::rings(), 1_000_000);
}

#[test]
fn removals() {
    holds(systems::removals(), 100_000);
}

#[test]
fn outliers() {
    holds(systems::outliers(), 1_000_000);
}

//! The protocol of the append as a model that is searched exhaustively: whatever is interleaved, lost, repeated or
//! interrupted, the guarantees hold in every state.
//!
//! `server.rs` is the server, `batch.rs` is what the runtime does, with the runtime's names and by its decisions
//! (`next_step.rs`), and `system.rs` is all that can happen.
//!
//! `tests/model` models the append: a server with two unique indexes, and up to three writers, whose steps bear the
//! names of the functions that build the commands. A breadth-first search visits every state that any order of their
//! steps can reach, while commands and answers are lost and repeated, commands are killed, items are removed, and a
//! writer crashes. G1 to G3 and G5 hold in each state, and a change stream can tell each append from a removal.
//! `bites.rs` takes away one safeguard at a time, and the search finds the broken guarantee. `replay.rs` keeps the
//! model true: it lets the runtime's commands through to a real server one by one, at random or so that each step of a
//! small system is taken (`cover.rs`); each must be what the model sends next, and after each the documents must be
//! the model's. The model includes `protocol/next_step.rs`, so it searches the engine's own decisions; any other
//! change of the append belongs there, too.
//!
//! Not covered are windows, `unique` items, commands of several keys, `append_many` and transactions; removals are
//! searched and not replayed. The extras of a parent are buckets, which take items by this protocol; pushes, the flag
//! and edits are proved in `tests/simulation` alone, with the runtime's own code. The model assumes that no command
//! arrives after its repetition was answered.

#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod batch;
mod bites;
mod cover;
mod gate;
#[path = "../../bucket-core/src/protocol/next_step.rs"]
#[allow(dead_code, reason = "the model has no items of unequal size")]
#[allow(
    unreachable_pub,
    reason = "included, so that it is compiled with optimisation as the model is"
)]
mod next_step;
mod properties;
mod replay;
#[path = "../live/support/scale.rs"]
#[allow(dead_code, reason = "a search has no number of cases")]
mod scale;
mod search;
mod server;
mod stored;
mod system;
mod systems;
mod writer;

use crate::{scale::is_long, search::search, system::Config};

/// Searches these systems, and asserts that no state breaks a guarantee. Without `BUCKET_TESTS_LONG` one thing fewer
/// is lost in each, which leaves about a quarter of the states.
fn holds(configs: impl IntoIterator<Item = Config>, at_least: usize) {
    let at_least = if is_long() { at_least } else { at_least / 10 };
    let mut states = 0;
    for mut config in configs {
        config.losses -= u8::from(!is_long());
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
fn appends_of_unbounded_items() {
    holds(systems::unbounded(), 1_000_000);
}

#[test]
fn empty_buckets() {
    holds(systems::emptied(), 100_000);
}

#[test]
fn removals() {
    holds(systems::removals(), 100_000);
}

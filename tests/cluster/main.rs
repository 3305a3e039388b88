//! Facts of a sharded cluster alone: on which shards a call's documents lie, which shards it
//! asks, and what happens when a shard lacks something.
//!
//! `cargo test` ignores these tests, since a cluster takes npm and five processes. They run with
//! `BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored`. The live tests cover
//! the guarantees themselves, and run on a cluster with the same variable.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod bad_input;
mod creation;
mod doubt;
mod loss;
mod opening;
mod outliers;
mod spread;
mod support;
mod targets;
mod upheaval;

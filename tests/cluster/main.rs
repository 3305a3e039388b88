//! What is true of a sharded cluster alone: on which shards a call's documents lie, which shards it
//! asks, and what happens when one of them lacks something.
//!
//! The tests run where `BUCKET_TESTKIT_SERVER=8.2-cluster` asks for a cluster; elsewhere they end at
//! once. The guarantees themselves are shown by the live tests, which run on a cluster by the same
//! variable.

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

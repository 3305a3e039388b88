//! Tests of the guarantees while machines fail, and over a long time. CONTRIBUTING.md has the commands.
//!
//! In `failover.rs`, writers go on while primaries and mongos are killed, stopped and cut off, and
//! `check.rs` compares what the writers were told with what is stored. In `histories.rs` clients append, read, edit,
//! remove and watch meanwhile, and `check/history.rs` judges each call by the others. `soak.rs` works on one server
//! for a long time, and watches memory and connections.
//!
//! `tests/endurance` starts a replica set or a sharded cluster, with a TCP proxy (`network.rs`) before each
//! member and each `mongos`. 16 writers for each way of writing note each answer; half use a client that waits
//! for a server, half one that gives up soon, and some calls are dropped. Meanwhile a primary, or on a cluster a
//! `mongos`, is cut off, killed, stopped or out of reach for longer than an election takes; a primary also steps
//! down, has its operations killed or a full disk (`faults.rs`). Operators build indexes, compact, restart members and
//! move chunks (`operators.rs`). Then `check.rs` compares the answers with the documents;
//! its own tests plant faults.

#![allow(clippy::unwrap_used, reason = "here, a panic is the report")]

mod check;
mod failover;
mod faults;
mod histories;
mod history;
mod items;
mod keeper;
mod load;
mod machines;
mod migrate;
mod network;
mod operators;
mod setup;
mod soak;
mod stored;
mod told;
mod usage;
mod workload;
mod writers;

/// Every error here is only reported, whatever its type.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The deployment that the writers of [`failover`] write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deployment {
    /// A replica set of three members.
    ReplicaSet,
    /// Two shards of three members each, behind two mongos. All collections are sharded.
    Cluster,
}

/// Runs writers against a deployment whose processes fail one after another, for `minutes`.
///
/// # Errors
///
/// If a guarantee is broken; the findings are printed on the standard output.
pub async fn failover(minutes: u64, deployment: Deployment) -> Result<()> {
    failover::run_for(minutes, deployment).await
}

/// Runs clients that record every call against a deployment whose processes fail again and again, for `minutes`, and
/// judges what they recorded. The seed decides the calls and the faults; without one it is chosen at random.
///
/// # Errors
///
/// If two calls contradict each other; the findings are printed on the standard output.
pub async fn histories(minutes: u64, deployment: Deployment, seed: Option<u64>) -> Result<()> {
    histories::run_for(minutes, deployment, seed).await
}

/// Runs appends, reads, removals and migrations on one server, for `minutes`.
///
/// # Errors
///
/// If a read differs from what was written, or memory or connections grow.
pub async fn soak(minutes: u64) -> Result<()> {
    soak::run_for(minutes, std::time::Duration::from_millis(40)).await
}

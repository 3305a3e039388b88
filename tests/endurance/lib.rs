//! The guarantees while machines fail, and over a long time: see CONTRIBUTING.md for the commands.
//!
//! `failover.rs` lets writers go on while primaries and mongos are killed, stopped and cut off;
//! `check.rs` compares what they were told with what is stored. `soak.rs` goes on for a long time on one
//! server, and watches memory and connections.

#![allow(clippy::unwrap_used, reason = "here, a panic is the report")]

mod check;
mod failover;
mod faults;
mod history;
mod items;
mod keeper;
mod load;
mod machines;
mod migrate;
mod network;
mod soak;
mod stored;
mod usage;
mod workload;
mod writers;

/// Whatever goes wrong here is reported, and nothing else.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// What the writers of [`failover`] write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deployment {
    /// A replica set of three members.
    ReplicaSet,
    /// Two shards of three members each, behind two mongos. All collections are sharded.
    Cluster,
}

/// Writers against a deployment in which one process after another fails, for so many minutes.
///
/// # Errors
///
/// When a guarantee is broken; what was found stands on the standard output.
pub async fn failover(minutes: u64, deployment: Deployment) -> Result<()> {
    failover::run_for(minutes, deployment).await
}

/// Appends, reads, removals and migrations on one server, for so many minutes.
///
/// # Errors
///
/// When a read differs from what was written, or memory or connections grow.
pub async fn soak(minutes: u64) -> Result<()> {
    soak::run_for(minutes, std::time::Duration::from_millis(40)).await
}

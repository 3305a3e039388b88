//! The guarantees while machines fail, and over a long time: see CONTRIBUTING.md for the commands.
//!
//! `failover.rs` lets writers go on while the primary of a replica set is killed, stopped and cut
//! off; `check.rs` compares what they were told with what is stored. `soak.rs` goes on for a long time
//! on one server, and watches memory and connections.

#![allow(clippy::unwrap_used, reason = "here, a panic is the report")]

mod check;
mod cluster;
mod failover;
mod faults;
mod history;
mod items;
mod keeper;
mod load;
mod migrate;
mod network;
mod soak;
mod stored;
mod usage;
mod workload;
mod writers;

/// Whatever goes wrong here is reported, and nothing else.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Writers against a replica set whose primary fails again and again, for so many minutes.
///
/// # Errors
///
/// When a guarantee is broken; what was found stands on the standard output.
pub async fn failover(minutes: u64) -> Result<()> {
    failover::run_for(minutes).await
}

/// Appends, reads, removals and migrations on one server, for so many minutes.
///
/// # Errors
///
/// When a read differs from what was written, or memory or connections grow.
pub async fn soak(minutes: u64) -> Result<()> {
    soak::run_for(minutes, std::time::Duration::from_millis(40)).await
}

//! What schedules reach: the runtime's decisions at each `reached!`, faults, dropped calls and ends of processes.
//!
//! `reached.txt` lists what two minutes reach, each time. A row that is no longer reached is code that can go, or a way
//! that the simulation has lost.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError},
};

use bucket_core::server::wire::simulated::take_reached;

/// How often each row was reached, by all threads.
#[derive(Debug, Default)]
pub struct Reached(Mutex<BTreeMap<String, u64>>);

impl Reached {
    /// The rows that the schedules of two minutes reach.
    fn rows() -> impl Iterator<Item = &'static str> {
        include_str!("reached.txt").lines()
    }

    /// Adds what this thread's schedules have reached since the last call.
    pub(crate) fn add(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (row, times) in take_reached() {
            *all.entry(row).or_default() += times;
        }
    }

    /// The rows of the list that were not reached.
    pub fn missed(&self) -> Vec<&'static str> {
        let reached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Self::rows()
            .filter(|row| !reached.contains_key(*row))
            .collect()
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (row, times) in reached.iter() {
            let is_listed = Self::rows().any(|listed| listed == row);
            writeln!(
                f,
                "{times:>9} {row}{}",
                if is_listed { "" } else { " (not listed)" }
            )?;
        }
        Ok(())
    }
}

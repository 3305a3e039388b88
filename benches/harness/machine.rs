//! The machine and the versions that the figures were measured on.

use std::{env, fs, thread};

/// The origin of a table of figures.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The day, as `2023-10-26`.
    pub date: String,
    /// The server's version.
    pub server: String,
    /// The driver's version.
    pub driver: String,
}

impl Environment {
    /// One line with all of it.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{}, MongoDB {}, driver {}, {} cores, {} {}",
            self.date,
            self.server,
            self.driver,
            cores(),
            env::consts::OS,
            env::consts::ARCH,
        )
    }
}

/// A warning if other programs keep the machine busy: the load of the last minute, before anything
/// runs.
pub(crate) fn busy() -> Option<String> {
    // Only Linux has this file; elsewhere the load is unknown.
    let loads = fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = loads.split_whitespace().next()?.parse().ok()?;
    let cores = cores();
    (load > 0.5 * cores as f64).then(|| {
        format!("warning: the machine is busy (load {load} on {cores} cores): expect noise")
    })
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

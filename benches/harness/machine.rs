//! The machine and the versions that the figures were measured on.

use std::{env, fs, thread};

/// The unit of `/proc/PID/stat`: clock ticks a second, 100 on every Linux.
const TICKS: f64 = 100.0;

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

/// The CPU seconds that a process on this machine has used; `None` if the system does not tell.
#[must_use]
pub fn cpu_seconds(pid: u32) -> Option<f64> {
    ticks(&pid.to_string(), 11)
}

/// The CPU seconds of the threads of a process on this machine that have not ended, to the nanosecond; `None` if
/// the system does not tell.
#[must_use]
pub fn cpu_seconds_of_threads(pid: u32) -> Option<f64> {
    let mut nanos = 0.0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        // A thread may end while its folder is read.
        let Ok(schedule) = fs::read_to_string(thread.ok()?.path().join("schedstat")) else {
            continue;
        };
        nanos += schedule.split(' ').next()?.parse::<f64>().ok()?;
    }
    Some(nanos / 1e9)
}

/// The CPU seconds of all child processes that have ended; `None` if the system does not tell.
#[must_use]
pub fn cpu_seconds_of_children() -> Option<f64> {
    ticks("self", 13)
}

/// Two successive fields of `/proc/PID/stat`, which only Linux has, in seconds.
fn ticks(pid: &str, skipped: usize) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses, which may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(skipped);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

/// The most memory that this process has had, in megabytes; `None` if the system does not tell. Each call
/// begins anew: the next one looks back to this one.
#[must_use]
pub fn peak_memory() -> Option<f64> {
    let peak = memory("VmHWM:")?;
    // From here on, the peak is what the process has now.
    fs::write("/proc/self/clear_refs", "5").ok()?;
    Some(peak)
}

/// The memory that this process has, in megabytes; `None` if the system does not tell.
#[must_use]
pub fn resident_memory() -> Option<f64> {
    memory("VmRSS:")
}

/// A line of `/proc/self/status`, in megabytes.
fn memory(name: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
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

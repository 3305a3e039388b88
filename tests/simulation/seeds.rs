//! Schedules of many seeds, for some time.

use std::{
    fmt,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{Keep, Simulator};

/// What a run of many schedules showed.
#[derive(Debug)]
pub struct Seeds {
    from: u64,
    schedules: u64,
    commands: u64,
    took: Duration,
    /// A seed whose schedule breaks a guarantee.
    pub failed: Option<u64>,
}

impl Seeds {
    /// A seed from which no run has begun before.
    pub fn new_seed() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_secs() << 20
    }

    /// Runs the schedules of the seeds from one on, on two threads, until the time is over or one breaks a guarantee.
    pub fn run(from: u64, limit: Duration, simulator: impl Fn() -> Simulator + Sync) -> Self {
        let (next, commands) = (AtomicU64::new(from), AtomicU64::new(0));
        let failed = OnceLock::new();
        let began = Instant::now();
        let work = || {
            let simulator = simulator();
            while began.elapsed() < limit && failed.get().is_none() {
                let seed = next.fetch_add(1, Relaxed);
                let outcome = simulator.run(seed, None, Keep::Nothing);
                commands.fetch_add(outcome.commands, Relaxed);
                if outcome.failure.is_some() {
                    failed.get_or_init(|| seed);
                }
            }
        };
        thread::scope(|scope| {
            scope.spawn(work);
            work();
        });
        Self {
            from,
            schedules: next.into_inner() - from,
            commands: commands.into_inner(),
            took: began.elapsed(),
            failed: failed.into_inner(),
        }
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (schedules, commands) = (self.schedules, self.commands);
        let (from, seconds) = (self.from, self.took.as_secs_f64());
        write!(
            f,
            "{schedules} schedules from seed {from} on, {commands} commands, {seconds:.0} seconds"
        )
    }
}

/// A schedule as text, and what it breaks.
pub struct Shown {
    /// The text.
    pub text: String,
    /// Whether all guarantees hold.
    pub holds: bool,
}

impl Simulator {
    /// Runs the schedule of a seed, and shows it.
    pub fn show(&self, seed: u64) -> Shown {
        let outcome = self.run(seed, None, Keep::Trace);
        let holds = outcome.failure.is_none();
        let failure = outcome.failure.as_deref().unwrap_or("all guarantees hold");
        let text = format!("{}\nseed {seed}: {failure}", outcome.trace.join("\n"));
        Shown { text, holds }
    }
}

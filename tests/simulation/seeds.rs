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

use crate::{
    Choices, Keep, Reached, Safeguard, Simulator,
    choices::{AsTest, shrink},
};

/// What a run of many schedules showed.
#[derive(Debug)]
pub struct Seeds {
    from: u64,
    schedules: u64,
    commands: u64,
    took: Duration,
    /// A seed whose schedule breaks a guarantee.
    pub failed: Option<u64>,
    /// What its schedules have reached.
    pub reached: Reached,
}

impl Seeds {
    /// A seed from which no run has begun before.
    pub fn new_seed() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_secs() << 20
    }

    /// Runs the schedules of the seeds from one on, on two threads, until the time is over or one breaks a guarantee.
    pub fn run(from: u64, limit: Duration) -> Self {
        let (next, commands) = (AtomicU64::new(from), AtomicU64::new(0));
        let (failed, reached) = (OnceLock::new(), Reached::default());
        let began = Instant::now();
        let work = || {
            let simulator = Simulator::new();
            while began.elapsed() < limit && failed.get().is_none() {
                let seed = next.fetch_add(1, Relaxed);
                let outcome = simulator.run(seed, None, Keep::Nothing);
                commands.fetch_add(outcome.commands, Relaxed);
                if outcome.failure.is_some() {
                    failed.get_or_init(|| seed);
                }
            }
            reached.add();
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
            reached,
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
    /// Runs the schedule of a seed, and shows it. One that fails is shown as far as it shrinks and still fails in some
    /// way, with a test that repeats it.
    pub fn show(&self, seed: u64) -> Shown {
        let outcome = self.run(seed, None, Keep::Trace);
        let holds = outcome.failure.is_none();
        let shown = match holds {
            true => outcome,
            false => {
                let least = self.shrink(outcome.choices, None);
                self.run(Choices::Given(least), None, Keep::Trace)
            }
        };
        let failure = shown.failure.as_deref().unwrap_or("all guarantees hold");
        let mut text = format!("{}\nseed {seed}: {failure}", shown.trace.join("\n"));
        if !holds {
            text += &format!("\n\n{}", AsTest(&shown.choices));
        }
        Shown { text, holds }
    }

    /// The choices of a schedule that breaks some guarantee, shrunk as far as one is still broken.
    pub(crate) fn shrink(&self, choices: Vec<u64>, undone: Option<Safeguard>) -> Vec<u64> {
        let fails = |choices: &[u64]| {
            let choices = Choices::Given(choices.to_vec());
            let outcome = self.run(choices, undone, Keep::Nothing);
            outcome.failure.is_some()
        };
        shrink(choices, fails)
    }
}

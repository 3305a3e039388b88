//! Runs schedules for some time, and prints the first one that breaks a guarantee.
//!
//! `bucket-simulation [--seconds N] [--from SEED]`: the seeds from there on, or new ones in each run.
//! `bucket-simulation --seed N`: one schedule as text.
//!
//! The capacity changes only with `--changes`, and in the tests.

use std::{
    process::ExitCode,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bucket_simulation::{Keep, Simulator};

fn main() -> ExitCode {
    if let Some(seed) = argument("--seed") {
        return show(seed);
    }
    let limit = Duration::from_secs(argument("--seconds").unwrap_or(60));
    let from = argument("--from").unwrap_or_else(new_seed);
    let (next, commands, failed) = (
        AtomicU64::new(from),
        AtomicU64::new(0),
        AtomicBool::new(false),
    );
    let began = Instant::now();
    let work = || {
        let simulator = simulator();
        while began.elapsed() < limit && !failed.load(Relaxed) {
            let seed = next.fetch_add(1, Relaxed);
            let outcome = simulator.run(seed, None, Keep::Nothing);
            commands.fetch_add(outcome.commands, Relaxed);
            if outcome.failure.is_some() && !failed.swap(true, Relaxed) {
                show(seed);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let (schedules, commands) = (next.into_inner() - from, commands.into_inner());
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{schedules} schedules from seed {from} on, {commands} commands, {seconds:.0} seconds"
    );
    ExitCode::from(u8::from(failed.into_inner()))
}

fn simulator() -> Simulator {
    match std::env::args().any(|argument| argument == "--changes") {
        true => Simulator::new(),
        false => Simulator::new().without_changes(),
    }
}

/// Prints a schedule.
fn show(seed: u64) -> ExitCode {
    let outcome = simulator().run(seed, None, Keep::Trace);
    for line in outcome.trace {
        println!("{line}");
    }
    let failure = outcome.failure;
    println!(
        "seed {seed}: {}",
        failure.as_deref().unwrap_or("all guarantees hold")
    );
    ExitCode::from(u8::from(failure.is_some()))
}

fn argument(name: &str) -> Option<u64> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)?.parse().ok()
}

fn new_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs() << 20
}

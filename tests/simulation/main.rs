//! Runs schedules for some time, and prints the first one that breaks a guarantee.
//!
//! `bucket-simulation [--seconds N] [--from SEED]`: the seeds from there on, or new ones in each run.
//! `bucket-simulation --seed N`: one schedule as text; one that fails shrunk, and as a test.

use std::{process::ExitCode, time::Duration};

use bucket_simulation::{Seeds, Simulator};

fn main() -> ExitCode {
    if let Some(seed) = argument("--seed") {
        return show(seed);
    }
    let limit = Duration::from_secs(argument("--seconds").unwrap_or(60));
    let from = argument("--from").unwrap_or_else(Seeds::new_seed);
    let run = Seeds::run(from, limit);
    if let Some(seed) = run.failed {
        show(seed);
    }
    println!("{}{run}", run.reached);
    ExitCode::from(u8::from(run.failed.is_some()))
}

/// Prints a schedule.
fn show(seed: u64) -> ExitCode {
    let shown = Simulator::new().show(seed);
    println!("{}", shown.text);
    ExitCode::from(u8::from(!shown.holds))
}

fn argument(name: &str) -> Option<u64> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)?.parse().ok()
}

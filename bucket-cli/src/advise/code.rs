//! Writes the struct as Rust, and the commands that go with it.

mod bucket;
mod commands;
mod fields;
pub(super) mod names;
mod outlier;
mod rename;
mod types;

use super::plan::Choice;

/// Code to paste, and commands to run.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// The Rust code.
    pub(super) rust: Vec<String>,
    /// The commands, for MongoDB's shell and the terminal, with comments.
    pub(super) commands: Vec<String>,
}

/// The code for a choice.
pub(super) fn write(choice: &Choice<'_>) -> Code {
    match choice {
        Choice::Leave => Code::default(),
        Choice::Buckets(plan) => {
            let (name, rust) = bucket::write(plan);
            Code {
                rust,
                commands: commands::of_buckets(plan, &name),
            }
        }
        Choice::TimeSeries(plan) => {
            let (name, rust) = bucket::write(plan);
            let mut all = commands::of_time_series(plan);
            all.extend(commands::of_buckets(plan, &name));
            Code {
                rust,
                commands: all,
            }
        }
        Choice::Outliers(plan) => {
            let (name, rust) = outlier::write(plan);
            Code {
                rust,
                commands: commands::of_outliers(plan, &name),
            }
        }
    }
}

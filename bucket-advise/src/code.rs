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

/// The code for a choice; without values of the data, texts become no enum.
pub(super) fn write(choice: &Choice<'_>, has_values: bool) -> Code {
    match choice {
        Choice::Leave => Code::default(),
        Choice::Buckets(plan) => {
            let (name, rust) = bucket::write(plan, has_values);
            Code {
                rust,
                commands: commands::of_buckets(plan, &name),
            }
        }
        Choice::TimeSeries(plan) => {
            let (name, rust) = bucket::write(plan, has_values);
            let mut all = commands::of_time_series(plan);
            all.extend(commands::of_buckets(plan, &name));
            Code {
                rust,
                commands: all,
            }
        }
        Choice::Outliers(plan) => {
            let (name, rust) = outlier::write(plan, has_values);
            Code {
                rust,
                commands: commands::of_outliers(plan, &name),
            }
        }
    }
}

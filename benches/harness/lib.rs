//! The harness of the figures: it measures our calls and their peers in turn, and reports.
//!
//! `cargo bench` runs all figures, and writes the table, the samples and the chart of each theme to
//! `results/VERSION/`, where the version is the server's: with `BUCKET_TESTKIT_SERVER=8.2` it is 8.2.0.
//! `cargo bench -- THEME…` runs and writes these themes. Any other word runs the figures whose name, or whose
//! theme's name, contains it, and only prints them; so does `--quick`, a short version. With `--delay=5` each round trip takes five milliseconds longer, as over a network; the CPU
//! time then includes that of the delaying line. With `--long` the figures run, too, that take six minutes each
//! (`cargo bench -- steady --long`).
//!
//! # How a figure comes about
//!
//! A figure is a constant [`Figure`] in one of the modules in `figures/`, and two or more
//! [`Contestant`]s. [`in_turn`] runs these one after the other, in another order each round, after
//! a round that does not count; what they return are their samples. The figure is the ratio of the
//! medians, ours to the peer's, with the interval that holds 95 % of the ratios of samples drawn again. So a
//! disturbance of the machine affects all of them, and a single disturbed sample changes no median.
//!
//! # To add a figure
//!
//! 1. Add a constant to the module of its theme, and to the theme's `FIGURES`. Its text says the capacity.
//! 2. Write the contestants: each has its own data, and measures only what is compared, not the
//!    making of that data.
//! 3. Hand their samples to [`Report::figure`], and add them to the theme's chart.

mod chart;
mod figure;
mod machine;
mod options;
mod pair;
mod ratio;
mod report;
mod text;

use std::error::Error;

pub use crate::{
    chart::{Bars, Chart, Curves},
    figure::{Figure, Unit, figures},
    machine::{
        Environment, cpu_seconds, cpu_seconds_of_children, cpu_seconds_of_threads, peak_memory,
        resident_memory,
    },
    options::Options,
    pair::{Contestant, Laps, Samples, in_turn, median, rate, split},
    report::Report,
    text::number,
};

/// The result of a measurement, or the reason why it failed.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

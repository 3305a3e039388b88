//! The figures: our calls and their peers on one server, in turn. See `harness/lib.rs` for how to
//! run them and how to add one.

mod append;
mod archive;
mod batcher;
mod bench;
mod bulk;
mod bytes;
mod cold;
mod cpu;
mod curve;
mod derive_check;
mod filtered;
mod fresh;
mod handles;
mod hot;
mod line;
mod lone;
mod long_load;
mod many_keys;
mod migrate;
mod newest;
mod outlier;
mod pages;
mod parts;
mod peers;
mod processes;
mod pushes;
mod resident;
mod rollup;
mod sizes;
mod statements;
mod steady;
mod stream;
mod traced;
mod trade;
mod writers;

use std::{path::Path, process::ExitCode, time::Instant};

use bucket_benches::{Options, Report, Result};
use bucket_testkit::Server;

use crate::bench::{Bench, Theme};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/results");

#[tokio::main]
async fn main() -> ExitCode {
    if let Some(writing) = resident::Writing::of_this_process() {
        return finish(writing.carry_out().await);
    }
    if let Some(order) = processes::Order::of_this_process() {
        return finish(processes::carry_out(order).await);
    }
    match Options::from_arguments() {
        Some(options) => finish(run(options).await),
        None => {
            println!("run me with `cargo bench`");
            ExitCode::SUCCESS
        }
    }
}

fn finish(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<()> {
    let report = Report::begin(options);
    let server = Server::start().await?;
    let bench = Bench::new(&server, report.clone()).await?;
    let themes: [Theme; 28] = [
        // First, since memory that another theme has freed would not count.
        long_load::THEME,
        append::THEME,
        lone::THEME,
        hot::THEME,
        steady::THEME,
        many_keys::THEME,
        statements::THEME,
        curve::THEME,
        processes::THEME,
        handles::THEME,
        bulk::THEME,
        pages::THEME,
        newest::THEME,
        fresh::THEME,
        cold::THEME,
        stream::THEME,
        parts::THEME,
        filtered::THEME,
        rollup::THEME,
        archive::THEME,
        migrate::THEME,
        bytes::THEME,
        resident::THEME,
        sizes::THEME,
        outlier::THEME,
        pushes::THEME,
        derive_check::THEME,
        // Last, since its subscriber stays.
        traced::THEME,
    ];
    for theme in themes {
        report.begin_theme(theme.name);
        if !bench.wants(theme.figures) {
            continue;
        }
        println!("\n{}", theme.name);
        let started = Instant::now();
        // In a task, as an application makes its calls.
        tokio::spawn((theme.measure)(bench.clone())).await??;
        bench.db.drop().await?;
        println!("  took {:.0} s", started.elapsed().as_secs_f64());
        report.end_theme(&bench.environment().await?, Path::new(FOLDER))?;
    }
    Ok(())
}

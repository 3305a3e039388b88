//! How many instructions the pure parts of the calls take: numbers that do not depend on how busy the
//! machine is. It needs valgrind, whose tool callgrind counts them.
//!
//! `cargo bench --bench instructions` counts all parts, prints them beside those of the table in `results/`,
//! and writes that table; with words, it only prints the parts whose names contain one of them.

mod parts;
mod pure;
#[path = "../figures/trade.rs"]
#[allow(dead_code, reason = "the figures use the other trades")]
mod trade;

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    hint::black_box,
    process::{Command, ExitCode},
};

use bucket_benches::{Options, Result, number};

use crate::parts::{PARTS, Part};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/results/instructions.md");

/// The argument by which this program tells itself to run one part, whose name follows.
const RUN: &str = "run-part";

fn main() -> ExitCode {
    let mut arguments = env::args().skip_while(|argument| argument != RUN);
    let result = match (arguments.nth(1), Options::from_arguments()) {
        (Some(name), _) => run_part(&name),
        (None, Some(options)) => count_parts(&options),
        (None, None) => {
            println!("run me with `cargo bench --bench instructions`");
            Ok(())
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a part twice, since the first run alone would allocate what later ones use again.
fn run_part(name: &str) -> Result<()> {
    let part = PARTS.iter().find(|part| part.name == name);
    let mut run = (part.ok_or("there is no such part")?.prepare)();
    run();
    counted_run(&mut *run);
    Ok(())
}

/// Callgrind counts what happens in this function, which it knows by its name.
#[inline(never)]
fn counted_run(run: &mut dyn FnMut()) {
    run();
    black_box(());
}

fn count_parts(options: &Options) -> Result<()> {
    let wanted = PARTS.iter().filter(|part| options.wants(part.name));
    let wanted = Vec::from_iter(wanted);
    if wanted.is_empty() {
        return Ok(());
    }
    println!("\ninstructions");
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("  skipped: this figure needs valgrind");
        return Ok(());
    }
    let table = fs::read_to_string(TABLE).unwrap_or_default();
    let before = counts(&table);
    let mut rows = String::new();
    for part in wanted {
        let count = count(part)?;
        let change = match before.get(part.name) {
            Some(before) => format!(
                "ratio {:.3} to the table's {}",
                count / before,
                number(*before)
            ),
            None => "new".to_owned(),
        };
        println!(
            "figure: instructions_{} {}, {change}",
            part.name,
            number(count)
        );
        writeln!(
            rows,
            "| `{}` | {} | {} |",
            part.name,
            part.what,
            number(count)
        )?;
    }
    if options.is_full() {
        let head = "| part | what | instructions |\n| --- | --- | ---: |";
        fs::write(TABLE, format!("{}\n\n{head}\n{rows}", environment()))?;
    }
    Ok(())
}

/// The instructions of a part, for each of its items.
fn count(part: &Part) -> Result<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*counted_run*")
        .arg(env::current_exe()?)
        .args([RUN, part.name])
        .output()?;
    let report = String::from_utf8_lossy(&output.stderr);
    let collected = report
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    match collected.and_then(|(_, count)| count.trim().parse::<f64>().ok()) {
        Some(count) if output.status.success() && count > 0.0 => Ok(count / part.each as f64),
        _ => Err(format!("valgrind says:\n{report}").into()),
    }
}

/// The counts of a table, by the parts' names.
fn counts(table: &str) -> BTreeMap<&str, f64> {
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<_> = line.split(" | ").collect();
        let name = cells.first()?.strip_prefix("| `")?.strip_suffix('`')?;
        let count = cells.last()?.strip_suffix(" |")?.replace(',', "");
        Some((name, count.parse().ok()?))
    });
    rows.collect()
}

/// What the counts depend on.
fn environment() -> String {
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map_or_else(
        |_| "an unknown compiler".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    );
    format!("{rustc}, {} {}", env::consts::OS, env::consts::ARCH)
}

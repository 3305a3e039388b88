//! What `bucket advise --all` costs over a plain scan by the driver, on a million small documents.
//!
//! `cargo test --release --test scale -- --ignored --nocapture` prints the time, the processor's time, and the peak
//! of memory. It reads them from `/proc`, so it needs Linux.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use bucket_runtime::bson::{DateTime, Document, doc};
use bucket_runtime::mongodb::Client;
use futures_util::TryStreamExt;

#[path = "advised/newcomer.rs"]
mod newcomer;

use newcomer::Newcomer;

const DOCUMENTS: i64 = 1_000_000;

/// The kernel counts a process's time in hundredths of a second.
const TICKS: f64 = 100.0;

/// What a process took.
#[derive(Debug, Clone, Copy)]
struct Cost {
    seconds: f64,
    cpu_seconds: f64,
    peak_kilobytes: u64,
}

/// Runs a program to its end, and looks at it every ten milliseconds.
fn run(program: &mut Command) -> Cost {
    let begin = Instant::now();
    let mut child = program.stdout(Stdio::null()).spawn().unwrap();
    let mut cost = Cost {
        seconds: 0.0,
        cpu_seconds: 0.0,
        peak_kilobytes: 0,
    };
    let status = loop {
        look(child.id(), &mut cost);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success());
    cost.seconds = begin.elapsed().as_secs_f64();
    cost
}

/// Reads the figures of a process, unless it has just ended.
fn look(pid: u32, cost: &mut Cost) {
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
    let (Ok(stat), Ok(status)) = (read("stat"), read("status")) else {
        return;
    };
    let after_name = stat.rsplit_once(") ").unwrap().1;
    let ticks = after_name.split(' ').skip(11).take(2);
    let ticks: f64 = ticks.map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    cost.cpu_seconds = cost.cpu_seconds.max(ticks / TICKS);
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse().ok());
    cost.peak_kilobytes = cost.peak_kilobytes.max(peak.unwrap_or(0));
}

fn documents(from: i64, keys: i64) -> Vec<Document> {
    let document = |n: i64| {
        let kind = ["view", "click", "buy"][(n % 3) as usize];
        doc! {
            "user_id": n * 7919 % keys, "at": DateTime::from_millis(1_700_000_000_000 + n * 1000),
            "kind": kind, "amount": n % 1000, "note": format!("note {n}"),
        }
    };
    (from..from + 10_000).map(document).collect()
}

#[bucket_testkit::test]
#[ignore = "stores a million documents, and only prints"]
async fn advice_on_everything_beside_a_plain_scan(newcomer: Newcomer) {
    // While it reads, `advise` tells 20,000 keys apart; if there are more, the server counts them afterwards.
    for keys in [10_000, 100_000] {
        newcomer
            .db
            .collection::<Document>("events")
            .drop()
            .await
            .unwrap();
        for from in (0..DOCUMENTS).step_by(10_000) {
            newcomer.store("events", &documents(from, keys)).await;
        }
        println!(
            "{DOCUMENTS} documents of {keys} keys; seconds, the processor's seconds, and the peak of memory"
        );
        compare(&newcomer.uri);
    }
}

/// Runs both three times, and prints what they take; then the advice on a sample.
fn compare(uri: &str) {
    let advise = |options: &[&str]| {
        let mut advice = Command::new(env!("CARGO_BIN_EXE_bucket"));
        run(advice.args(["advise", uri, "events"]).args(options))
    };
    for _ in 0..3 {
        let mut plain = Command::new(env::current_exe().unwrap());
        plain.args(["--ignored", "--exact", "plain_scan"]);
        let plain = run(plain.env("SCAN", uri));
        let advice = advise(&["--all"]);
        for (name, cost) in [("plain scan", plain), ("advise --all", advice)] {
            let megabytes = cost.peak_kilobytes / 1000;
            println!(
                "{name:>12}: {:.1} s, {:.1} s, {megabytes} MB",
                cost.seconds, cost.cpu_seconds
            );
        }
        println!(
            "       ratio: {:.2}, {:.2}",
            advice.seconds / plain.seconds,
            advice.cpu_seconds / plain.cpu_seconds
        );
    }
    let sampled = advise(&["--sample", "10000"]);
    println!(
        "    a sample: {:.1} s, {:.1} s",
        sampled.seconds, sampled.cpu_seconds
    );
}

/// The scan to compare with, in a process of its own; without the variable there is nothing to scan.
#[tokio::test]
#[ignore = "part of the other test"]
async fn plain_scan() {
    let Some(uri) = env::var_os("SCAN") else {
        return;
    };
    let client = Client::with_uri_str(uri.to_str().unwrap()).await.unwrap();
    let events = client
        .default_database()
        .unwrap()
        .collection::<Document>("events");
    let mut all = events.find(doc! {}).await.unwrap();
    let mut count = 0;
    while let Some(document) = all.try_next().await.unwrap() {
        count += i64::from(!document.is_empty());
    }
    assert_eq!(count, DOCUMENTS);
}

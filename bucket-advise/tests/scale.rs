//! What `bucket advise` costs: `--all` over a plain scan by the driver, and a sample as the collection grows.
//!
//! `cargo test --release --test scale -- --ignored --nocapture --test-threads 1` prints the time, the processor's time,
//! and the peak of memory. It reads them from `/proc`, so it needs Linux. The samples are of one and of ten million
//! documents, or of as many millions as `MILLIONS` says.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use bucket_runtime::bson::{Bson, DateTime, Document, doc};
use bucket_runtime::mongodb::{Client, Collection};
use futures_util::TryStreamExt;

#[path = "advised/newcomer.rs"]
mod newcomer;

use newcomer::Newcomer;

/// So many documents are inserted at once.
const BATCH: i64 = 10_000;

/// The kernel counts a process's time in hundredths of a second.
const TICKS: f64 = 100.0;

/// What a process took.
#[derive(Debug, Clone, Copy)]
struct Cost {
    seconds: f64,
    cpu_seconds: f64,
    peak_kilobytes: u64,
}

/// Runs a program to its end, while the driver goes on.
async fn run(program: Command) -> Cost {
    let watched = tokio::task::spawn_blocking(|| watch(program));
    watched.await.unwrap()
}

/// Runs a program to its end, and looks at it every ten milliseconds.
fn watch(mut program: Command) -> Cost {
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

fn at(n: i64) -> DateTime {
    DateTime::from_millis(1_700_000_000_000 + n * 1000)
}

/// A flat document of one of so many keys.
fn event(n: i64, keys: i64) -> Document {
    let kind = ["view", "click", "buy"][(n % 3) as usize];
    doc! {
        "user_id": n * 7919 % keys, "at": at(n), "kind": kind, "amount": n % 1000, "note": format!("note {n}"),
    }
}

fn items(n: i64, count: i64) -> Vec<Bson> {
    let item = |m: i64| {
        Bson::from(doc! { "at": at(n * 10 + m), "note": format!("note {m}"), "amount": m })
    };
    (0..count).map(item).collect()
}

/// A bucket of ten items of one of a thousand keys, as this library stores it.
fn bucket(n: i64) -> Document {
    let begin = at(n * 10).timestamp_millis() / 1000;
    let user = n % 1000;
    doc! { "_id": format!("{user}_{begin}"), "user": user, "count": 10, "items": items(n, 10) }
}

/// A document with up to nineteen items; one in ten thousand has two thousand.
fn parent(n: i64) -> Document {
    let count = if n % 10_000 == 77 { 2000 } else { n % 20 };
    doc! { "_id": n, "name": format!("name {n}"), "items": items(n, count) }
}

/// Fills a collection with so many documents.
async fn fill(
    newcomer: &Newcomer,
    name: &str,
    count: i64,
    document: impl Fn(i64) -> Document,
) -> Collection<Document> {
    let collection = newcomer.db.collection::<Document>(name);
    for from in (0..count).step_by(BATCH as usize) {
        let documents = (from..from + BATCH).map(&document);
        collection.insert_many(documents).await.unwrap();
    }
    collection
}

#[bucket_testkit::test]
#[ignore = "stores millions of items, and only prints"]
async fn advice_on_everything_beside_a_plain_scan(newcomer: Newcomer) {
    // While it reads, `advise` tells 20,000 keys apart; if there are more, the server counts them afterwards.
    for keys in [10_000, 100_000] {
        let flat = fill(&newcomer, "flat", 1_000_000, |n| event(n, keys)).await;
        println!("a million flat documents of {keys} keys");
        compare(&newcomer.uri, "flat").await;
        flat.drop().await.unwrap();
    }
    let arrays = fill(&newcomer, "arrays", 100_000, parent).await;
    println!("a million items in the arrays of 100,000 documents");
    compare(&newcomer.uri, "arrays").await;
    arrays.drop().await.unwrap();
}

#[bucket_testkit::test]
#[ignore = "stores millions of items, and only prints"]
async fn advice_on_all_buckets_beside_a_plain_scan(newcomer: Newcomer) {
    for (count, order, step, begin) in [
        (100_000, "in order", 1, 0),
        (100_000, "the first of them stored last", 1, 1),
        (100_000, "in no order", 7919, 0),
        (600_000, "in no order", 7919, 0),
    ] {
        let nth = |n: i64| bucket((begin + n * step) % count);
        let buckets = fill(&newcomer, "buckets", count, nth).await;
        println!("{count} buckets with ten items each, {order}");
        compare(&newcomer.uri, "buckets").await;
        buckets.drop().await.unwrap();
    }
}

async fn advise(uri: &str, collection: &str, options: &[&str]) -> Cost {
    let mut advice = Command::new(env!("CARGO_BIN_EXE_bucket"));
    advice.args(["advise", uri, collection]).args(options);
    run(advice).await
}

/// Runs both three times, and prints what they take.
async fn compare(uri: &str, collection: &str) {
    for _ in 0..3 {
        let mut plain = Command::new(env::current_exe().unwrap());
        plain.args(["--ignored", "--exact", "plain_scan"]);
        plain.env("SCAN", uri).env("COLLECTION", collection);
        let plain = run(plain).await;
        let advice = advise(uri, collection, &["--all"]).await;
        for (name, cost) in [("plain scan", plain), ("advise --all", advice)] {
            let megabytes = cost.peak_kilobytes / 1000;
            println!(
                "{name:>14}: {:.1} s, the processor {:.1} s, {megabytes} MB",
                cost.seconds, cost.cpu_seconds
            );
        }
        println!(
            "{:>14}: {:.2}, the processor {:.2}",
            "ratio",
            advice.seconds / plain.seconds,
            advice.cpu_seconds / plain.cpu_seconds
        );
    }
}

/// The scan to compare with, in a process of its own; without the variable there is nothing to scan.
#[tokio::test]
#[ignore = "part of the other test"]
async fn plain_scan() {
    let Some(uri) = env::var_os("SCAN") else {
        return;
    };
    let client = Client::with_uri_str(uri.to_str().unwrap()).await.unwrap();
    let name = env::var("COLLECTION").unwrap();
    let collection = client
        .default_database()
        .unwrap()
        .collection::<Document>(&name);
    let mut all = collection.find(doc! {}).await.unwrap();
    let mut count = 0;
    while let Some(document) = all.try_next().await.unwrap() {
        count += i64::from(!document.is_empty());
    }
    assert!(count > 0);
}

/// Ten thousand documents by `$sample`, and by a hundred ranges of `_id`, as the collection grows.
#[bucket_testkit::test]
#[ignore = "stores millions of documents, and only prints"]
async fn a_sample_as_the_collection_grows(newcomer: Newcomer) {
    let largest = env::var("MILLIONS").map_or(10, |millions| millions.parse().unwrap());
    for millions in [1, largest] {
        let count = millions * 1_000_000;
        let tiny = |n: i64| doc! { "_id": n, "user": n * 7919 % 1000, "at": at(n), "n": n };
        let flat = fill(&newcomer, "tiny", count, tiny).await;
        println!("{millions} million documents, a sample of 10,000");
        for _ in 0..3 {
            let begin = Instant::now();
            let sample = flat
                .aggregate([doc! { "$sample": { "size": 10_000 } }])
                .await
                .unwrap();
            let sampled = sample.try_collect::<Vec<_>>().await.unwrap().len();
            println!(
                "{:>14}: {:.2} s, {sampled} documents",
                "$sample",
                begin.elapsed().as_secs_f64()
            );
            let begin = Instant::now();
            let mut found = 0;
            for from in (0..count).step_by((count / 100) as usize) {
                let range = flat
                    .find(doc! { "_id": { "$gte": from } })
                    .sort(doc! { "_id": 1 })
                    .limit(100);
                found += range
                    .await
                    .unwrap()
                    .try_collect::<Vec<_>>()
                    .await
                    .unwrap()
                    .len();
            }
            println!(
                "{:>14}: {:.2} s, {found} documents",
                "ranges of _id",
                begin.elapsed().as_secs_f64()
            );
            let advice = advise(&newcomer.uri, "tiny", &[]).await;
            println!(
                "{:>14}: {:.1} s, the processor {:.1} s, {} MB",
                "advise",
                advice.seconds,
                advice.cpu_seconds,
                advice.peak_kilobytes / 1000
            );
        }
        flat.drop().await.unwrap();
    }
}

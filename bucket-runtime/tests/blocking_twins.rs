//! Every call that can be awaited can be waited for by blocking: each builder is in the table of
//! `src/sync/run.rs`, and those that give streams are among those that give iterators. What a call
//! gives is compared by the compiler.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{collections::BTreeSet, fs, path::Path, process::Command};

fn sources() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).unwrap();
        for path in entries.map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => texts.push(fs::read_to_string(path).unwrap()),
            }
        }
    }
    texts
}

/// The names of the types that implement a trait.
fn implementers(of: &str) -> BTreeSet<String> {
    let sources = sources();
    let lines = sources.iter().flat_map(|text| text.lines());
    lines
        .filter(|line| line.starts_with("impl"))
        .filter_map(|line| line.split_once(&format!(" {of} for ")))
        .map(|(_, name)| name_at(name))
        .collect()
}

fn name_at(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// The rows of a table: the builder, and what it gives.
fn table(named: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sync/run.rs");
    let text = fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(&format!("\n{named}! {{")).unwrap();
    let (rows, _) = rest.split_once("\n}").unwrap();
    let rows = rows
        .lines()
        .filter_map(|row| row.split_once("] ")?.1.split_once(" => "));
    rows.map(|(builder, output)| (name_at(builder), name_at(output)))
        .collect()
}

#[test]
fn every_builder_has_a_blocking_twin() {
    let builders = implementers("IntoFuture");
    assert!(builders.contains("Append") && builders.contains("Advise"));
    let listed = [table("run"), table("run_as_iterator")].concat();
    let listed: BTreeSet<_> = listed.into_iter().map(|(builder, _)| builder).collect();
    assert_eq!(builders, listed);
}

#[test]
fn every_stream_has_a_blocking_twin() {
    let streams = implementers("Stream");
    assert!(streams.contains("ItemStream"));
    let listed = table("run_as_iterator");
    let listed: BTreeSet<_> = listed.into_iter().map(|(_, stream)| stream).collect();
    assert_eq!(streams, listed);
}

/// The features that cargo turns on in the driver.
fn features_of_the_driver(options: &[&str]) -> Vec<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal", "--depth", "1"])
        .args(["--format", "{p} {f}", "--prefix", "none", "--manifest-path"])
        .arg(manifest)
        .args(options)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let tree = String::from_utf8(output.stdout).unwrap();
    let driver = tree.lines().find(|line| line.starts_with("mongodb "));
    let features = driver.unwrap().rsplit(' ').next().unwrap();
    features.split(',').map(str::to_owned).collect()
}

#[test]
fn the_default_build_has_nothing_of_it() {
    let sync = "sync".to_owned();
    assert!(!features_of_the_driver(&[]).contains(&sync));
    assert!(features_of_the_driver(&["--features", "sync"]).contains(&sync));
}

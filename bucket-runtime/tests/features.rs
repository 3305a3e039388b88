//! What the crate's features turn on in the driver.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{path::Path, process::Command};

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
fn only_the_feature_sync_builds_the_drivers_blocking_calls() {
    let sync = "sync".to_owned();
    assert!(!features_of_the_driver(&[]).contains(&sync));
    assert!(features_of_the_driver(&["--features", "sync"]).contains(&sync));
}

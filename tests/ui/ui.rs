//! The compiler's message about each mistake.
//!
//! `TRYBUILD=overwrite cargo test --test ui` blesses the messages; read them in the diff.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{fs, path::Path};

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("fixtures/bucket/invalid/*.rs");
    cases.compile_fail("fixtures/outlier/invalid/*.rs");
}

/// The compiler quotes the standard library only where the component `rust-src` is installed.
#[test]
fn no_message_depends_on_the_source_of_the_standard_library() {
    for pattern in ["bucket", "outlier"] {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/{pattern}/invalid"));
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "stderr")
            {
                let message = fs::read_to_string(&path).unwrap();
                assert!(!message.contains("$RUST"), "{}", path.display());
            }
        }
    }
}

//! What the compiler must say about each mistake.
//!
//! `TRYBUILD=overwrite cargo test --test ui` blesses the messages; read them in the diff.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("fixtures/bucket/invalid/*.rs");
    cases.compile_fail("fixtures/outlier/invalid/*.rs");
}

//! What the compiler must say about each mistake.
//!
//! `TRYBUILD=overwrite cargo test --test ui` blesses the messages; read them in the diff.

#[test]
fn ui() {
    trybuild::TestCases::new().compile_fail("fixtures/invalid/*.rs");
}

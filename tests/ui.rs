//! Compile tests: what must compile, and what each mistake must be told.
//!
//! `TRYBUILD=overwrite cargo test --test ui` blesses the messages; read them in the diff.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("fixtures/valid/*.rs");
    cases.compile_fail("fixtures/invalid/*.rs");
}

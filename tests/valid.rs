//! Code that must compile, under every lint that generated code could trigger, and that must then run.
//!
//! All fixtures share one binary, each in its own module: a program for each would link the driver each
//! time.

#![deny(warnings, clippy::all)]
#![allow(
    dead_code,
    unreachable_pub,
    reason = "fixtures are there to be compiled"
)]
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

/// What a facade crate re-exports: one of the fixtures names it by `$crate`.
pub use bucket_runtime as runtime_of_the_facade;

macro_rules! fixtures {
    ($($(#[$lints:meta])* $name:ident)+) => {$(
        $(#[$lints])*
        mod $name {
            include!(concat!("fixtures/valid/", stringify!($name), ".rs"));

            #[test]
            fn runs() {
                main();
            }
        }
    )+};
}

fixtures! {
    aliases
    beside_serde
    blanket_traits
    bounds
    const_capacity
    container_default
    deny_unknown_fields
    deprecated_field
    facade
    field_names
    fields
    flatten
    generic_rollup
    generics
    in_macro
    in_macro_serde
    indexes
    left_out
    max_bytes
    millis
    minimal
    names
    newtype_key
    numbered
    only_keys
    optional_times
    outlier_book
    outlier_const_limits
    outlier_defaults
    outlier_deprecated_field
    outlier_every_key
    outlier_flag
    outlier_generics
    outlier_in_macro
    outlier_private_types
    outlier_serde
    outlier_types
    owned_bounds
    private_types
    raw_identifiers
    renamed
    rollup
    serde_crate
    several_keys
    suffixed
    time_types
    #[deny(clippy::pedantic, missing_docs, unused_qualifications)]
    trade
    unique
    window
}

/// The help lines of the invalid fixtures, pasted as code.
#[allow(warnings, clippy::all, reason = "that it compiles is the test")]
mod pasted {
    include!("fixtures/pasted.rs");
}

/// The list above names every fixture.
#[test]
fn every_fixture_is_run() {
    let named = include_str!("valid.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/valid");
    for file in std::fs::read_dir(folder).expect("the fixtures") {
        let name = file.expect("a fixture").file_name();
        let name = name.to_string_lossy();
        let name = name.trim_end_matches(".rs");
        assert!(
            named.contains(&format!("\n    {name}\n")),
            "{name} is not run"
        );
    }
}

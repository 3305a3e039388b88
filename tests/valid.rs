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
    ($($folder:ident { $($(#[$lints:meta])* $name:ident)+ })+) => {$(
        mod $folder {
            /// The names above.
            pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),+];

            $(
                $(#[$lints])*
                mod $name {
                    include!(concat!(
                        "fixtures/",
                        stringify!($folder),
                        "/valid/",
                        stringify!($name),
                        ".rs"
                    ));

                    #[test]
                    fn runs() {
                        main();
                    }
                }
            )+
        }
    )+};
}

fixtures! {
    bucket {
        blanket_traits
        bounds
        const_capacity
        container_default
        deprecated_field
        facade
        fields
        generic_rollup
        generics
        in_macro
        indexes
        left_out
        max_bytes
        minimal
        nested
        nested_lists
        nested_paths
        optional_times
        own_dates
        owned_bounds
        part
        private_types
        raw_identifiers
        renamed
        rollup
        serde
        several_keys
        suffixed
        time_types
        #[deny(clippy::pedantic, missing_docs, unused_qualifications)]
        trade
        unique
        window
    }
    outlier {
        book
        every_key
        flag
        generics
        item_part
        part
        private_types
        serde
        total
        types
        unique
    }
}

/// The help lines of the invalid fixtures, pasted as code.
#[allow(warnings, clippy::all, reason = "that it compiles is the test")]
mod pasted {
    include!("fixtures/pasted.rs");
}

/// The lists above name every fixture.
#[test]
fn every_fixture_is_run() {
    for (folder, names) in [("bucket", bucket::NAMES), ("outlier", outlier::NAMES)] {
        let folder = format!("{}/fixtures/{folder}/valid", env!("CARGO_MANIFEST_DIR"));
        for file in std::fs::read_dir(folder).expect("the fixtures") {
            let name = file.expect("a fixture").file_name();
            let name = name.to_string_lossy();
            let name = name.trim_end_matches(".rs");
            assert!(names.contains(&name), "{name} is not run");
        }
    }
}

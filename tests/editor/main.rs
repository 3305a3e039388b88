//! An editor follows and renames the names in attributes with the fields. rust-analyzer, a component of rustup,
//! stands for the editor.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod analyzer;

use std::{collections::BTreeSet, fs, path::Path};

use self::analyzer::{Analyzer, Place};

/// Each marked name stands in an attribute, or in code that names the field.
const SOURCE: &str = r#"use bucket_runtime::{Bucket, Fields, Filter, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Fields)]
pub struct Venue {
    pub city: String,
}

#[derive(Bucket)]
#[bucket(collection = "trades", key(customer_id), by(date, 1h), capacity = 10)]
pub struct Trade {
    pub customer_id: i64,
    pub date: DateTime,
    #[bucket(index(city))]
    pub venue: Venue,
}

pub fn of_a_city(trade: &Trade) -> Filter<Trade> {
    let fields = Trade::FIELDS;
    let own = fields.customer_id.eq(trade.customer_id);
    own.and(fields.venue.city.eq("Paris")).and(fields.date.eq(trade.date))
}
"#;

/// This folder is kept between runs, since checking the dependencies takes a minute.
const SCRATCH: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/editor");

/// A crate with the source.
fn write_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let runtime = root.join("bucket-runtime").canonicalize().unwrap();
    let manifest = format!(
        "[package]\nname = \"edited\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nbucket-runtime = {{ path = {runtime:?} }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\n[workspace]\n",
    );
    let folder = Path::new(SCRATCH);
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/lib.rs"), SOURCE).unwrap();
    // The project takes the versions and the compiler of this workspace.
    for file in ["Cargo.lock", "rust-toolchain.toml"] {
        fs::copy(root.join(file), folder.join(file)).unwrap();
    }
}

/// All places where a whole word stands.
fn places(word: &str) -> BTreeSet<Place> {
    let lines = SOURCE.lines().enumerate();
    let is_in_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let found = lines.flat_map(|(line, text)| {
        let whole = text.match_indices(word).filter(move |(at, _)| {
            let (before, after) = (&text[..*at], &text[at + word.len()..]);
            !before.ends_with(is_in_name) && !after.starts_with(is_in_name)
        });
        whole.map(move |(column, _)| Place { line, column })
    });
    found.collect()
}

/// The place of the `n`th of these words.
fn nth(word: &str, n: usize) -> Place {
    *places(word).iter().nth(n).unwrap()
}

#[test]
#[ignore = "needs rust-analyzer: rustup component add rust-analyzer; cargo test --test editor -- --ignored"]
fn names_in_attributes_are_renamed_and_found_with_the_fields() {
    write_crate();
    let mut editor = Analyzer::start(Path::new(SCRATCH), "src/lib.rs", SOURCE);
    // From the struct's field, a rename finds the attributes, `FIELDS`, and all other code.
    for (word, field) in [("customer_id", 1), ("date", 1), ("city", 0)] {
        assert_eq!(editor.renamed(nth(word, field)), places(word), "{word}");
    }
    // The field is found from its name in the attribute, and the other way round.
    for (word, written, field) in [("customer_id", 0, 1), ("date", 0, 1), ("city", 1, 0)] {
        let (written, field) = (nth(word, written), nth(word, field));
        assert!(editor.definitions(written).contains(&field), "{word}");
        assert!(editor.references(written).contains(&field), "{word}");
    }
    for word in ["customer_id", "date"] {
        let (written, field) = (nth(word, 0), nth(word, 1));
        assert!(editor.references(field).contains(&written), "{word}");
    }
}

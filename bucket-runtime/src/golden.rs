//! The commands that are sent for typical structs, one by one: `golden/*.snap` can be read as the protocol.
//!
//! `INSTA_UPDATE=always cargo test --package bucket-runtime --lib golden` writes them again.

mod append;
mod edit;
mod filters;
mod outlier;
mod read;
mod setup;

use std::fmt::Write as _;

use bucket_core::{
    protocol::command::{AppendedItems, IndexedScope, Update},
    schema::open_index::OpenIndex,
};
use mongodb::bson::{Bson, DateTime, Document};
use serde::{Deserialize, Serialize};

use crate::{
    Bucket,
    write::item::{self, UntypedItem},
};

/// Buckets named after the second of their first item.
#[derive(Serialize, Deserialize, Bucket)]
#[bucket(crate = crate, collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
struct Trade {
    customer_id: i64,
    date: DateTime,
    #[bucket(index, max_len = 8)]
    ticker: String,
}

/// Numbered buckets; the server refuses an order that is there already.
#[derive(Serialize, Deserialize, Bucket)]
#[bucket(crate = crate, collection = "orders", id = "{shop}_{#}", capacity = 10)]
struct Order {
    shop: i64,
    #[bucket(unique)]
    number: i64,
}

/// Buckets in windows, which keep rollups and expire.
#[derive(Serialize, Deserialize, Bucket)]
#[bucket(
    crate = crate, collection = "readings", id = "{sensor}_{at/1d}", capacity = 100,
    expire_after = "90d",
)]
struct Reading {
    sensor: i64,
    at: DateTime,
    #[bucket(sum, max)]
    celsius: f64,
}

/// Items of any length: the bytes of a bucket are counted.
#[derive(Serialize, Deserialize, Bucket)]
#[bucket(crate = crate, collection = "notes", id = "{user}_{at}", capacity = 10, max_bytes = 100_000)]
struct Note {
    user: i64,
    at: DateTime,
    text: String,
}

/// 2024-05-06T07:08:09Z.
const AT: DateTime = DateTime::from_millis(1_714_979_289_000);

fn trade() -> Trade {
    Trade {
        customer_id: 123,
        date: AT,
        ticker: "MDB".to_owned(),
    }
}

fn order() -> Order {
    Order {
        shop: 7,
        number: 42,
    }
}

fn reading() -> Reading {
    Reading {
        sensor: 5,
        at: AT,
        celsius: 21.5,
    }
}

fn note() -> Note {
    Note {
        user: 9,
        at: AT,
        text: "x".repeat(5000),
    }
}

/// The element of an item, and the scope that it is appended in.
fn entry<T: Bucket>(item: &T) -> (IndexedScope, item::Entry) {
    let scope = item.scope().by(OpenIndex::first(T::SPEC.capacity));
    let entry = item::entry(item, &scope, &|kind| crate::Error::new(kind, "golden"));
    (scope, entry.unwrap())
}

/// Documents by the calls that they stand for, in the order in which they were shown.
#[derive(Default)]
struct Golden(String);

impl Golden {
    fn document(&mut self, title: &str, document: &Document) {
        writeln!(self.0, "{title}").unwrap();
        self.fields("    ", document);
        self.0.push('\n');
    }

    fn fields(&mut self, indent: &str, document: &Document) {
        for (name, value) in document {
            writeln!(self.0, "{indent}{name}: {}", shortened(value)).unwrap();
        }
    }

    fn pipeline(&mut self, title: &str, stages: &[Document]) {
        writeln!(self.0, "{title}").unwrap();
        for stage in stages {
            writeln!(self.0, "    {stage}").unwrap();
        }
        self.0.push('\n');
    }

    fn update(&mut self, title: &str, update: &Update) {
        let upsert = if update.upsert { ", upsert" } else { "" };
        let hint = update
            .hint
            .map_or(String::new(), |hint| format!(", hint {hint}"));
        writeln!(self.0, "{title}{upsert}{hint}").unwrap();
        self.fields("    ", &update.filter);
        self.fields("  ", &update.update);
        self.0.push('\n');
    }
}

/// A value as text, with long strings cut.
fn shortened(value: &Bson) -> String {
    let text = value.to_string();
    let long = "x".repeat(5000);
    text.replace(&long, "x…")
}

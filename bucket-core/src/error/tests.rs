//! Each error as a user meets it: its predicates and its text, which `snapshots/` holds.

// It shows the names that only spans have.
#[cfg(feature = "tracing")]
mod of_driver;

use std::{collections::BTreeSet, fmt::Write as _};

use insta::assert_snapshot;

use super::{Error, Kind, count, driver::first_word, kind::TABLE};
use crate::schema::{
    names::{EXPIRY_INDEX, OPEN_INDEX},
    size::TooLong,
};

/// An error of each kind, and several of those kinds whose text depends on more than a value.
fn kinds() -> Vec<Kind> {
    [of_collections(), of_items(), of_calls()].concat()
}

fn of_collections() -> Vec<Kind> {
    vec![
        Kind::Driver,
        Kind::Duplicate,
        Kind::MissingIndex,
        Kind::MissingIndexes(vec![
            "db.a.createIndex(1)".into(),
            "db.a.createIndex(2)".into(),
        ]),
        Kind::ForeignIndex {
            name: OPEN_INDEX.into(),
            is: "{ a: 1 }".into(),
        },
        Kind::ForeignIndex {
            name: EXPIRY_INDEX.into(),
            is: "{ a: 1 }".into(),
        },
        Kind::OtherStruct { by: "shop".into() },
        Kind::KnowsLess {
            keeps: "each item once, by `items.id`".into(),
            add: "mark that field `unique`",
            remove: "dropIndex(\"bucket_unique\")".into(),
        },
        Kind::OtherItems("\"1_2\"".into()),
        Kind::NotOurId("ObjectId(\"65f0\")".into()),
        Kind::NoCollection,
        Kind::CapacityMismatch {
            stored: 10,
            derived: 20,
        },
        Kind::ExtrasCapacityMismatch {
            stored: 10,
            derived: 20,
        },
        Kind::ExpiryMismatch {
            stored: 60,
            derived: Some(90),
        },
        Kind::ExpiryMismatch {
            stored: 60,
            derived: None,
        },
        Kind::WindowMismatch {
            stored: 60,
            derived: 3600,
        },
        Kind::InsideWindow("2023-10-26T18:30:00Z".into()),
        Kind::SeveralOpen,
        Kind::NotUnique,
        Kind::Twins("7".into()),
        Kind::Collation,
    ]
}

fn of_items() -> Vec<Kind> {
    vec![
        Kind::Serialize,
        Kind::Deserialize("\"1_2\"".into()),
        Kind::UnreadableParent("2".into()),
        Kind::NamedTwice,
        Kind::TimeOutOfRange("+10000-01-01".into()),
        Kind::IdsExhausted("1_2_999999".into()),
        Kind::ForeignId("\"1_2\"".into()),
        Kind::ForeignExtras("ObjectId(\"…\")".into()),
        Kind::NoKeyInId("\"1\"".into()),
        Kind::TwoDatabases,
        Kind::SumOverflow,
        Kind::Moved("key"),
        Kind::IncompleteRollup,
        Kind::TooLarge,
        Kind::ItemTooLarge {
            bytes: 200,
            most: 90,
            max: 100,
        },
        Kind::NoRoom(200),
        Kind::FilterTooLarge,
        Kind::LoadTooLarge {
            bytes: 100,
            keys: 10,
        },
        Kind::EditTooLarge {
            bytes: 200,
            most: 100,
        },
        Kind::TooLong(TooLong {
            field: "ticker",
            len: 9,
            max: 8,
        }),
        Kind::ParentThere,
        Kind::NoParent,
        Kind::ParentMoved("array"),
        Kind::ParentTooLarge(5000),
        Kind::ParentDeleted,
    ]
}

fn of_calls() -> Vec<Kind> {
    vec![
        Kind::Contended(100),
        Kind::Stopped,
        Kind::Dropped,
        Kind::HistoryLost,
        Kind::TokenMismatch,
        Kind::FlatDocument("7".into()),
        Kind::Line(7),
        Kind::KeyTaken("1_\"2".into()),
        Kind::OldBucketChanged("1_\"2".into()),
        Kind::FlatCollectionChanged { found: 5, taken: 4 },
        Kind::Unverified {
            old: 3,
            migrated: 4,
            new: 5,
        },
        Kind::Overtaken,
        Kind::Standalone("repair"),
        Kind::NoTransactions,
        Kind::Unsupported("partial indexes"),
        Kind::NotSharded,
        Kind::ShardKey {
            found: Some("{ _id: 1 }".into()),
            wanted: "{ shop: 1 }".into(),
        },
        Kind::ShardKey {
            found: None,
            wanted: "{ shop: 1 }".into(),
        },
        Kind::NoWindowShardKey("the struct has none"),
        Kind::OtherValidator {
            collection: "trades".into(),
            validator: "{ a: 1 }".into(),
        },
    ]
}

/// The names of an error's public predicates.
fn predicates(error: &Error) -> Vec<&'static str> {
    let of_error = TABLE.iter().filter(|(_, holds, _)| holds(error));
    let names = of_error.map(|(name, ..)| *name);
    names.filter(|name| name.starts_with("is_")).collect()
}

#[test]
fn of_each_kind() {
    let mut shown = String::new();
    for kind in kinds() {
        let name = first_word(&kind);
        let error = Error::new(kind, "shop.trades");
        let predicates = predicates(&error).join(", ");
        // The examples' struct is not the user's.
        assert!(!error.to_string().contains("Trade"), "{error}");
        writeln!(shown, "{name} {{{predicates}}}\n    {error}").unwrap();
    }
    assert_snapshot!(shown);
}

#[test]
fn each_kind_of_the_table_is_shown() {
    let shown: BTreeSet<_> = kinds().iter().map(|kind| first_word(kind)).collect();
    let listed = TABLE.iter().flat_map(|(.., kinds)| *kinds);
    assert_eq!(shown, listed.map(|kind| (*kind).to_owned()).collect());
}

#[test]
fn in_doubt() {
    let mut shown = String::new();
    for kind in [Kind::Driver, Kind::Stopped, Kind::TooLarge] {
        let error = Error::new(kind, "shop.trades").with_key("7").in_doubt();
        writeln!(shown, "{error}\n{}", error.clone().with_stored(3)).unwrap();
    }
    assert_snapshot!(shown);
}

/// The names of the public predicates, which stand in the table of kinds and beside it.
fn public() -> Vec<&'static str> {
    let sources = [include_str!("kind.rs"), include_str!("../error.rs")];
    let names = sources.into_iter().flat_map(|source: &'static str| {
        let parts = Vec::from_iter(source.split("pub fn is_"));
        let of_users = |pair: &&[&str]| !pair[0].trim_end().ends_with("#[doc(hidden)]");
        let names = parts.windows(2).filter(of_users);
        Vec::from_iter(names.map(|pair| pair[1]))
    });
    let mut names: Vec<_> = names
        .map(|rest| rest.split([' ', '(']).next().unwrap())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn the_page_of_errors_has_a_row_for_each_predicate_and_no_other() {
    let page = include_str!("../../../bucket-runtime/src/guide/errors.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| [`is_"));
    let mut rows: Vec<_> = rows.map(|row| row.split('`').next().unwrap()).collect();
    rows.sort_unstable();
    assert_eq!(rows, public());
}

#[test]
fn an_error_hands_out_what_it_tells() {
    let commands = vec!["db.a.createIndex(1)".to_owned()];
    let error = Error::new(Kind::MissingIndexes(commands.clone()), "shop.trades").with_stored(3);
    assert_eq!((error.missing_indexes(), error.stored()), (&*commands, 3));
    assert_eq!(format!("{error:?}"), error.to_string());
    let other = Error::new(Kind::Dropped, "shop.trades");
    assert!(other.missing_indexes().is_empty());
}

#[test]
fn one_thing_is_not_counted_as_several() {
    let error = Error::new(Kind::Contended(3), "shop.trades").with_stored(1);
    assert!(
        error.to_string().ends_with("(the first item is stored)"),
        "{error}"
    );
    assert_eq!(
        [count(0, "item"), count(1, "item"), count(2, "item")],
        ["0 items", "1 item", "2 items"]
    );
}

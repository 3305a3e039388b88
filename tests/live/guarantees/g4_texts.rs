//! G4 for text keys, which may look like ids, escapes, patterns, operators and parts of each other.

use std::{collections::BTreeSet, fmt::Debug};

use bucket_runtime::mongodb::{Database, bson::doc};
use proptest::prelude::*;

use crate::{
    guarantees::g4_keys::{
        LongLiterals, Note, Numbered, PairMillis, PairSeconds, Seconds, fresh, stay_apart,
    },
    support::{database::Live, random::for_any, scale::scaled},
};

/// Texts that look like ids, escapes, patterns, operators and parts of each other.
pub(crate) fn hostile() -> Vec<String> {
    let short = [
        "", "_", "__", "_x", "_x_", "x", "12", "12_", "12_3", "1", "2", "123", "012", "12.0",
        "-12", "a.b", "axb", "a|b", "a|", "|b", "a_b", "a%5Fb", "a%255Fb", "%5F", "%5f", "%", "%%",
        "%25", "C++", "a(b", "[a]", "a*", ".*", "^a", "a$", "^12_", "\\", "\\_", "a\\.b", "\"",
        "'", "\"'", "\0", "a\0", "a\0b", "\n", "a\nb", "a\r\nb", "\t", " ", " 12", "12 ", "\u{7f}",
        "\u{85}", "שלום", "\u{e9}", "\u{c5}", "\u{212b}", "ﬁ", "fi", "ß", "SS", "A", "a", "İ", "i",
        "👩", "\u{ffff}", "$where", "$12", "$", "null", "true", ".", "..", "/", "-", "+", "a-b",
        "`", "a`", "^", "notes/",
    ];
    let long = [
        "\u{202e}12",
        "e\u{301}",
        "A\u{30a}",
        "👩‍👩‍👧",
        "\u{10ffff}",
        "a\u{10ffff}",
        "\u{feff}12",
        "{\"$gt\":\"\"}",
        "12_1698335223",
        "12_1698335223_000001",
        "12_1698335223434",
        "12.1698335223434",
        "12|0000000000",
        "1698335223",
        "a_0000000000",
        "0000000000",
        "-9999999999",
        "a_x_1698335223",
        "_x_1698335223",
    ];
    let mut texts = Vec::from_iter(short.iter().chain(&long).map(ToString::to_string));
    texts.push("long_".repeat(2000));
    texts.push("long_".repeat(2000) + "1698335223");
    texts.push("%5F".repeat(3000));
    let distinct = BTreeSet::from_iter(&texts);
    assert_eq!(distinct.len(), texts.len(), "a text is in the list twice");
    texts
}

macro_rules! hostile_texts {
    ($($test:ident: $name:ident;)+) => {$(
        #[bucket_testkit::test]
        async fn $test(db: Live) {
            let notes = fresh::<$name>(&db).await;
            let keys: Vec<_> = hostile().into_iter().map(|text| (text,)).collect();
            stay_apart(&notes, &keys).await;
        }
    )+};
}

hostile_texts! {
    hostile_texts_stay_apart_by_seconds: Seconds;
    hostile_texts_stay_apart_by_number: Numbered;
    long_literals_keep_hostile_texts_apart: LongLiterals;
}

/// Texts that, once joined, can be split at several places.
pub(crate) const PARTS: [&str; 11] = ["", "_", "__", "a", "b", "a_b", "b_c", "_x", "x", "%", "-1_"];

#[bucket_testkit::test]
async fn pairs_stay_apart(db: Live) {
    let notes = fresh::<PairSeconds>(&db).await;
    let keys = PARTS.map(|a| PARTS.map(|b| (a.to_owned(), b.to_owned())));
    stay_apart(&notes, keys.as_flattened()).await;
}

/// Sets of distinct keys whose texts are full of characters that are special to some format, so that
/// they are often prefixes of each other.
fn key_sets<K: Debug + Ord>(
    key: impl Fn(String, String) -> K + Clone + 'static,
) -> impl Strategy<Value = Vec<K>> {
    let text = || prop_oneof!["[_%.|x0-9-]{0,5}", "[a_]{0,3}", any::<String>()];
    let key = (text(), text()).prop_map(move |(a, b)| key(a, b));
    proptest::collection::btree_set(key, 1..7).prop_map(|keys| keys.into_iter().collect())
}

/// A collection for all cases, emptied for each.
async fn any_set_stays_apart<T: Note>(db: &Database, sets: impl Strategy<Value = Vec<T::Key>>)
where
    T::Key: Debug,
{
    let notes = fresh::<T>(db).await;
    for_any(scaled(64), sets, async |keys| {
        notes.collection().delete_many(doc! {}).await.unwrap();
        stay_apart(&notes, &keys).await;
    });
}

#[bucket_testkit::test(multi_thread)]
async fn any_texts_stay_apart(db: Live) {
    any_set_stays_apart::<Seconds>(&db, key_sets(|a, _| (a,))).await;
}

#[bucket_testkit::test(multi_thread)]
async fn any_pairs_of_texts_stay_apart(db: Live) {
    any_set_stays_apart::<PairMillis>(&db, key_sets(|a, b| (a, b))).await;
}

//! The compiler's proof of the size of full buckets, and the lengths that it relies on.

use std::panic::catch_unwind;

use bucket_runtime::{
    BsonSize, Bucket, BucketSpec, KeyField, LenField, MAX_BYTES,
    mongodb::bson::{DateTime, Decimal128, Document, doc, oid::ObjectId},
};

use futures_util::TryStreamExt;

use crate::support::{
    database::{Live, Recorded, items, number},
    ops,
};

/// Long field names, and values as large as possible. The items are of 1969, and must not expire beside the test.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "extremes",
    id = "{text}/{number}_{at/1h}",
    capacity = 120,
    expire_after = "24800d",
    max_bytes = 105_000
)]
struct Extreme {
    #[bucket(max_len = 8)]
    text: String,
    number: u64,
    #[bucket(max)]
    at: DateTime,
    #[bucket(sum, min, max)]
    decimal: Decimal128,
    #[bucket(sum)]
    missing: Option<f64>,
    object: ObjectId,
    letters: [char; 11],
    pair: (i64, bool),
    #[bucket(max_len = 30)]
    bytes: Vec<u8>,
    #[bucket(max_len = 20)]
    note: Option<String>,
}

const FIELDS: [(&str, Option<u64>); 8] = [
    ("at", Some(8)),
    ("decimal", Some(<Decimal128 as BsonSize>::MAX)),
    ("missing", Some(<Option<f64> as BsonSize>::MAX)),
    ("object", Some(<ObjectId as BsonSize>::MAX)),
    ("letters", Some(<[char; 11] as BsonSize>::MAX)),
    ("pair", Some(<(i64, bool) as BsonSize>::MAX)),
    ("bytes", Some(<Vec<u8>>::FIXED + 30 * <Vec<u8>>::PER_BYTE)),
    ("note", Some(String::FIXED + 20 * String::PER_BYTE)),
];

/// The smallest `max_bytes` with which the struct compiles.
fn bound(spec: BucketSpec) -> u32 {
    let passes = |bytes: &u32| {
        let of = spec.max_bytes(*bytes);
        catch_unwind(|| of.bounded(&[Some(8), <u64 as KeyField>::MAX_TEXT], &FIELDS)).is_ok()
    };
    let (mut fails, mut least) = (1024, MAX_BYTES);
    while least - fails > 1 {
        let middle = fails.midpoint(least);
        match passes(&middle) {
            true => least = middle,
            false => fails = middle,
        }
    }
    least
}

fn extreme(n: i64) -> Extreme {
    Extreme {
        // Every character is escaped.
        text: "////////".into(),
        number: u64::MAX,
        at: DateTime::from_millis(-1_000_000 - n),
        decimal: "9.999999999999999999999999999999999E+6000".parse().unwrap(),
        missing: None,
        object: ObjectId::new(),
        letters: ['\u{10FFFF}'; 11],
        pair: (i64::MIN, true),
        bytes: vec![255; 30],
        note: Some("ä".repeat(10)),
    }
}

#[bucket_testkit::test]
async fn a_full_bucket_is_no_larger_than_proved(db: Live) {
    const { assert!(Extreme::SPEC.is_bounded) };
    let bound = bound(Extreme::SPEC);
    assert!(bound <= 105_000);

    let buckets = Extreme::buckets(&db).await.unwrap();
    let all: Vec<_> = (0..250).map(extreme).collect();
    for item in &all {
        buckets.append(item).await.unwrap();
    }
    // Seal the buckets, as taking items out of them would.
    let seal = vec![doc! { "$set": { "sealed": "$_id" } }];
    let raw = buckets.collection().clone_with_type::<Document>();
    raw.update_many(doc! {}, seal).await.unwrap();
    let sizes = raw.aggregate([doc! { "$project": { "size": { "$bsonSize": "$$ROOT" } } }]);
    let sizes: Vec<_> = sizes.await.unwrap().try_collect().await.unwrap();
    let largest = sizes.iter().map(|bucket| number(bucket.get("size"))).max();
    let (largest, bound) = (largest.unwrap(), i64::from(bound));
    assert!(largest <= bound, "{largest} > {bound}");
    // The bound is tight to a factor of two, not an arbitrary large number.
    assert!(largest * 2 > bound, "{largest} of {bound}");
}

/// A struct whose texts, in the key and in the items, have a bounded length.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "notes", id = "{user}_{#}", capacity = 3)]
struct Note {
    #[bucket(max_len = 4)]
    user: String,
    #[bucket(max_len = 10)]
    title: String,
    n: i64,
}

fn note(title: &str, n: i64) -> Note {
    Note {
        user: "user".into(),
        title: title.into(),
        n,
    }
}

#[bucket_testkit::test]
async fn a_value_that_is_too_long_is_refused_before_anything_is_sent(
    Recorded(db, record): Recorded,
) {
    let notes = Note::buckets(&db).await.unwrap();
    record.take();
    // Eleven bytes in ten letters.
    let error = notes.append(&note("aaaaaaaaaä", 0)).await.unwrap_err();
    assert!(error.is_too_long() && !error.is_maybe_stored(), "{error}");
    let text = error.to_string();
    assert!(text.contains("`title` has 11 bytes"), "{text}");
    assert!(text.contains("allows 10"), "{text}");
    let long_key = Note {
        user: "users".into(),
        ..note("a", 0)
    };
    let error = notes.append(&long_key).await.unwrap_err();
    assert!(error.to_string().contains("`user` has 5 bytes"), "{error}");
    assert!(record.take().is_empty(), "something was sent");

    // An edit cannot make an item longer, either.
    notes.append(&note("short", 0)).await.unwrap();
    let longer = notes.update_item("user", Note::FIELDS.n.eq(0), |item| {
        item.title = "much too long".into();
    });
    assert!(longer.await.unwrap_err().is_too_long());

    // Of many items, only the long ones are refused.
    let [too_long, longest, empty] =
        [("aaaaaaaaää", 1), ("aaaaaaaaä", 2), ("", 3)].map(|(title, n)| note(title, n));
    let many = vec![too_long, longest.clone(), long_key, empty.clone()];
    let error = notes.append_many(many).await.unwrap_err();
    let failed = error.failed().iter();
    let failed = failed.map(|failed| (failed.index, failed.error.is_too_long()));
    assert_eq!(Vec::from_iter(failed), [(0, true), (2, true)]);
    assert_eq!(error.stored(), 2);
    let expected = [note("short", 0), longest, empty];
    assert_eq!(items(&notes, "user").await, expected);
}

#[bucket_testkit::test]
async fn a_flat_document_that_is_too_long_stops_an_import(db: Live) {
    let flat = db.collection::<Document>("flat");
    let documents = [
        doc! { "user": "user", "title": "short", "n": 1_i64 },
        doc! { "user": "user", "title": "much too long", "n": 2_i64 },
    ];
    flat.insert_many(documents).await.unwrap();
    let notes = Note::buckets(&db).await.unwrap();
    let error = ops(&notes).import_flat(&flat).await.unwrap_err();
    assert!(error.is_deserialize(), "{error}");
    assert!(error.to_string().contains("`max_len`"), "{error}");
    let shorter = doc! { "$set": { "title": "shorter" } };
    flat.update_one(doc! { "n": 2 }, shorter).await.unwrap();
    ops(&notes).import_flat(&flat).await.unwrap();
    let expected = [note("short", 1), note("shorter", 2)];
    assert_eq!(items(&notes, "user").await, expected);
}

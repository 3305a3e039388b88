//! Buckets as they are stored, and as they should not be.

use mongodb::bson::{Bson, DateTime, Document, doc, oid::ObjectId};
use serde::Serialize;

use super::*;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucket)]
#[bucket(crate = crate, collection = "trades", id = "{shop}_{customer}_{#}", capacity = 10)]
struct Trade {
    shop: String,
    #[serde(alias = "buyer")]
    customer: i64,
    #[bucket(sum)]
    quantity: i64,
}

fn trade(quantity: i64) -> Trade {
    Trade {
        shop: "a".to_owned(),
        customer: 7,
        quantity,
    }
}

/// A bucket with two items, after some changes.
fn bucket(change: impl FnOnce(&mut Document)) -> Document {
    let mut bucket = doc! {
        "_id": "a_7_0000000000", "shop": "a", "customer": 7_i64, "count": 2,
        "items": [{ "quantity": 1_i64 }, { "quantity": 2_i64 }],
        "rollup": { "quantity": { "count": 2_i64, "sum": 3_i64 } },
    };
    change(&mut bucket);
    bucket
}

fn read(change: impl FnOnce(&mut Document)) -> Result<StoredBucket<Trade>, String> {
    let bytes = bytes::write(&bucket(change)).unwrap();
    bytes::read(&bytes).map_err(|error: DriverError| error.to_string())
}

#[test]
fn a_bucket_is_read_with_its_key_and_its_items() {
    let stored = read(|_| {}).unwrap();
    assert_eq!(
        (&*stored.id, &stored.key),
        ("a_7_0000000000", &("a".to_owned(), 7))
    );
    assert!(!stored.sealed && stored.left_out.is_empty());
    assert!(stored.totals.is_some());
    assert_eq!(stored.into_items(), [trade(1), trade(2)]);
}

#[test]
fn a_former_name_of_a_key_field_is_read_and_an_unknown_name_is_not() {
    let renamed = read(|bucket| {
        let customer = bucket.remove("customer").unwrap();
        bucket.insert("buyer", customer);
        bucket.insert("window", DateTime::MAX);
    });
    assert_eq!(renamed.unwrap().key, ("a".to_owned(), 7));
}

/// In the manual's example, extras have an `ObjectId`.
#[test]
fn an_id_that_is_not_a_text_is_read_as_one() {
    let id = ObjectId::new();
    let stored = read(|bucket| _ = bucket.insert("_id", id)).unwrap();
    assert!(stored.id.contains(&id.to_hex()), "{}", stored.id);
}

#[test]
fn a_rollup_that_does_not_cover_all_items_is_not_read() {
    for rollup in [
        Bson::Null,
        doc! {}.into(),
        doc! { "quantity": { "count": 1_i64, "sum": 3_i64 } }.into(),
    ] {
        let stored = read(|bucket| _ = bucket.insert("rollup", &rollup)).unwrap();
        assert!(stored.totals.is_none(), "{rollup}");
    }
}

#[test]
fn an_error_says_what_is_wrong_and_where() {
    type Change = fn(&mut Document);
    let changes: [(Change, &str); 7] = [
        (|bucket| _ = bucket.remove("_id"), "there is no field `_id`"),
        (
            |bucket| _ = bucket.remove("customer"),
            "there is no field `customer`",
        ),
        (
            |bucket| _ = bucket.remove("items"),
            "there is no field `items`",
        ),
        (
            |bucket| _ = bucket.insert("items", 7),
            "`items` is not an array: its type is Int32",
        ),
        (
            |bucket| _ = bucket.insert("customer", "x"),
            "the key field `customer` has a value of another type",
        ),
        (
            |bucket| _ = bucket.insert("items", vec![1]),
            "invalid type: Int32, expected a document",
        ),
        (
            |bucket| {
                _ = bucket.insert(
                    "items",
                    vec![doc! { "quantity": 1 }, doc! { "quantity": "x" }],
                )
            },
            "items.1: ",
        ),
    ];
    for (change, said) in changes {
        let error = read(change).err().expect(said);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn an_element_is_read_straight_from_its_bytes() {
    let bytes = bytes::write(&doc! { "element": { "quantity": 7_i64 } }).unwrap();
    let field = RawFields::of(&bytes).unwrap().next().unwrap().unwrap();
    assert!(direct::element::<<Trade as Bucket>::Element>(field).is_some());
}

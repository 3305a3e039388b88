//! Which structs and keys may be stored: generics, raw identifiers, keys of the user's own type and of
//! several fields.

use std::{borrow::Cow, marker::PhantomData};

use bucket_runtime::{
    Bucket, KeyField,
    mongodb::bson::{Bson, DateTime, Uuid, doc, oid::ObjectId},
};

use crate::{
    support::database::{Live, documents, ids, items},
    types::round_trip::{noon, round_trip},
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "samples", id = "{k}_{at}", capacity = 2)]
struct Sample<T, U = ()> {
    k: i64,
    at: DateTime,
    value: T,
    unit: PhantomData<U>,
}

#[bucket_testkit::test]
async fn a_struct_may_be_generic(db: Live) {
    let texts = ["a", "b", "c"].map(|value| Sample::<String> {
        k: 1,
        at: noon(),
        value: value.into(),
        unit: PhantomData,
    });
    assert_eq!(round_trip(&db, &texts).await.len(), 2);
    let lists = [vec![], vec![Some(0.5), None]].map(|value| Sample::<Vec<Option<f64>>, u8> {
        k: 1,
        at: noon(),
        value,
        unit: PhantomData,
    });
    assert_eq!(round_trip(&db, &lists).await.len(), 1);
}

mod limits {
    pub(super) const PER_PAGE: usize = 2;
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "raw", id = "{type}_{#}", capacity = limits::PER_PAGE)]
struct Raw {
    r#type: String,
    r#match: i32,
}

#[bucket_testkit::test]
async fn raw_identifiers_are_stored_without_their_prefix_and_a_capacity_may_be_a_constant(
    db: Live,
) {
    let raw = [1, 2, 3].map(|r#match| Raw {
        r#type: "t".into(),
        r#match,
    });
    let stored = round_trip(&db, &raw).await;
    let first = doc! {
        "_id": "t_0000000000", "type": "t", "count": 2, "items": [{ "match": 1 }, { "match": 2 }],
    };
    assert_eq!((&stored[0], stored.len()), (&first, 2));
}

/// A key type of the user's own, which serde does not know.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CustomerId(pub(crate) i64);

impl KeyField for CustomerId {
    type Borrowed = Self;

    fn borrowed(&self) -> &Self {
        self
    }

    fn id_text(key: &Self) -> Cow<'_, str> {
        Cow::Owned(format!("C_{}", key.0))
    }

    fn to_bson(key: &Self) -> Bson {
        doc! { "$customer": key.0 }.into()
    }

    fn from_bson(value: Bson) -> Option<Self> {
        let customer = value.as_document()?.get_i64("$customer").ok();
        customer.map(CustomerId)
    }
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "orders", id = "{customer}_{#}", capacity = 2)]
struct Order {
    customer: CustomerId,
    n: i32,
}

/// The key's stored value is a document, and a filter must not take it for operators.
#[bucket_testkit::test]
async fn a_key_type_may_be_the_users_own(db: Live) {
    let orders = Order::buckets(&db).await.unwrap();
    let three_of = |customer| {
        [0, 1, 2].map(|n| {
            let customer = CustomerId(customer);
            Order { customer, n }
        })
    };
    for order in three_of(1).into_iter().chain(three_of(2)) {
        orders.append(&order).await.unwrap();
    }
    assert_eq!(items(&orders, &CustomerId(2)).await, three_of(2));
    let expected = [
        "1_0000000000",
        "1_0000000001",
        "2_0000000000",
        "2_0000000001",
    ];
    assert_eq!(ids(&orders).await, expected.map(|id| format!("C%5F{id}")));
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "many",
    id = "{a}_{b}-{c}_{d}-{e}_{at:millis}",
    capacity = 2
)]
struct Many {
    n: i32,
    e: bool,
    d: Uuid,
    c: ObjectId,
    b: i64,
    a: String,
    at: DateTime,
}

#[bucket_testkit::test]
async fn a_key_may_have_several_fields_in_the_order_of_the_format(db: Live) {
    let many = Many::buckets(&db).await.unwrap();
    let (c, d) = (ObjectId::from_bytes([1; 12]), Uuid::from_bytes([2; 16]));
    let item = |n: i32, e: bool| Many {
        n,
        e,
        d,
        c,
        b: -1,
        a: "x".into(),
        at: noon(),
    };
    for item in (0..3).flat_map(|n| [item(n, true), item(n, false)]) {
        many.append(&item).await.unwrap();
    }
    let expected = [0, 1, 2].map(|n| item(n, true));
    assert_eq!(items(&many, ("x", &-1, &c, &d, &true)).await, expected);
    assert_eq!(many.count(("x", &1, &c, &d, &true)).await.unwrap(), 0);
    let stored = documents(many.collection()).await;
    let bytes = "01".repeat(12);
    let uuid = "02020202-0202-0202-0202-020202020202".replace('-', "%2D");
    let id = format!("x_%2D1-{bytes}_{uuid}-false_1698321600000");
    assert_eq!(stored[0].get_str("_id").unwrap(), id);
    // The server decides the order in which a new document gets the filter's fields: 8.0 and later
    // shuffle them.
    let mut names: Vec<_> = stored[0].keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["_id", "a", "b", "c", "count", "d", "e", "items"]);
}

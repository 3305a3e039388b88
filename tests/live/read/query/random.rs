//! Random items, changes that leave buckets in every state, and queries.

use bucket_runtime::mongodb::bson::{Bson, DateTime, Regex, doc, oid::ObjectId};
use proptest::{prelude::*, sample::select};

use crate::read::query::cases::{Test, Values};

/// A change of what is stored.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Append(Values),
    /// Seals an open bucket.
    Seal(usize),
    /// Takes the first item out of a bucket, as the library does.
    TakeOut(usize),
    /// Deletes a bucket.
    Delete(usize),
}

/// A read.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) key: Option<(&'static str, i64)>,
    pub(crate) test: Test,
    pub(crate) newest_first: bool,
    pub(crate) skip: Option<u64>,
    pub(crate) limit: Option<u64>,
}

const REGIONS: [&str; 2] = ["a", "a/1"];
const LABELS: [&str; 3] = ["", "x", "y"];
const TAGS: [&str; 3] = ["p", "q", "r"];
const OPS: [&str; 6] = ["=", "!=", "<", "<=", ">", ">="];

fn any() -> impl Strategy<Value = Bson> {
    let regex = |pattern: &str| Regex {
        pattern: pattern.try_into().unwrap(),
        options: "".try_into().unwrap(),
    };
    let scalars = vec![
        Bson::Null,
        Bson::Int32(1),
        Bson::Int64(2),
        Bson::Double(1.0),
        Bson::Double(f64::NAN),
        Bson::Double(-0.0),
        Bson::Boolean(true),
        Bson::String("x".into()),
        Bson::String("1".into()),
        Bson::DateTime(DateTime::from_millis(1)),
        Bson::ObjectId(ObjectId::from_bytes([7; 12])),
        Bson::RegularExpression(regex("^x")),
        Bson::MinKey,
    ];
    let scalar = select(scalars).boxed();
    prop_oneof![
        6 => scalar.clone(),
        2 => proptest::collection::vec(scalar.clone(), 0..3).prop_map(Bson::Array),
        1 => scalar.prop_map(|value| Bson::Document(doc! { "x": value })),
    ]
}

fn price() -> impl Strategy<Value = Option<f64>> {
    select(vec![
        None,
        Some(0.0),
        Some(1.0),
        Some(2.5),
        Some(f64::NAN),
        Some(-1.0),
    ])
}

fn values() -> impl Strategy<Value = Values> {
    (
        (select(&REGIONS[..]), 1..3_i64, -2500..6000_i64),
        price(),
        proptest::option::of(select(&LABELS[..])),
        proptest::collection::vec(select(&TAGS[..]), 0..3),
        prop_oneof![4 => any(), 1 => Just(Bson::Undefined)],
    )
        .prop_map(|((region, user, millis), price, label, tags, any)| Values {
            region,
            user,
            millis,
            price,
            label,
            tags,
            any,
        })
}

pub(crate) fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        40 => values().prop_map(Change::Append),
        3 => (0..9_usize).prop_map(Change::Seal),
        4 => (0..9_usize).prop_map(Change::TakeOut),
        1 => (0..9_usize).prop_map(Change::Delete),
    ];
    proptest::collection::vec(change, 30..90)
}

fn test() -> impl Strategy<Value = Test> {
    let op = || select(&OPS[..]);
    let on_key = prop_oneof![
        // An equality on the first key field bounds the ids.
        2 => select(&REGIONS[..]).prop_map(|value| Test::Region("=", value)),
        1 => (op(), select(&REGIONS[..])).prop_map(|(op, value)| Test::Region(op, value)),
        1 => (op(), 1..4_i64).prop_map(|(op, value)| Test::User(op, value)),
        1 => proptest::collection::vec(1..4_i64, 0..3).prop_map(Test::Users),
    ];
    let on_item = prop_oneof![
        (-2500..6000_i64, -2500..6000_i64).prop_map(|(from, to)| Test::Time(from, to)),
        (-2500..6000_i64).prop_map(Test::Since),
        (op(), 0..40).prop_map(|(op, value)| Test::Number(op, value)),
        (0..40, 0..40).prop_map(|(from, to)| Test::Numbers(from, to)),
        (op(), price()).prop_map(|(op, value)| Test::Price(op, value)),
        proptest::collection::vec(price(), 0..3).prop_map(Test::Prices),
        proptest::bool::ANY.prop_map(Test::PriceExists),
        (op(), proptest::option::of(select(&LABELS[..])))
            .prop_map(|(op, value)| Test::Label(op, value)),
        (op(), proptest::collection::vec(select(&TAGS[..]), 0..3))
            .prop_map(|(op, values)| Test::Tags(op, values)),
        select(&TAGS[..]).prop_map(Test::Tag),
        (select(vec!["=", "!=", "$lt", "$gte"]), any()).prop_filter_map(
            // The server does not order regular expressions.
            "an order of patterns",
            |(op, value)| {
                let pattern = matches!(value, Bson::RegularExpression(_));
                (!op.starts_with('$') || !pattern).then_some(Test::Any(op, value))
            }
        ),
        proptest::collection::vec(any(), 0..3).prop_map(Test::AnyOf),
        select(vec!["null", "number", "string", "array", "object"]).prop_map(Test::AnyType),
    ];
    let leaf = prop_oneof![6 => on_key, 12 => on_item, 1 => Just(Test::All)];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        let two = two.prop_map(|(a, b)| (Box::new(a), Box::new(b))).boxed();
        prop_oneof![
            two.clone().prop_map(|(a, b)| Test::And(a, b)),
            two.prop_map(|(a, b)| Test::Or(a, b)),
            inner.prop_map(|test| Test::Not(Box::new(test))),
        ]
    })
}

pub(crate) fn queries(number: usize) -> impl Strategy<Value = Vec<Query>> {
    let key = (select(&REGIONS[..]), 1..3_i64);
    let query = (
        proptest::option::weighted(0.7, key),
        prop_oneof![2 => test(), 1 => Just(Test::All)],
        proptest::bool::ANY,
        proptest::option::of(0..20_u64),
        proptest::option::of(0..12_u64),
    );
    let query = query.prop_map(|(key, test, newest_first, skip, limit)| Query {
        key,
        test,
        newest_first,
        skip,
        limit,
    });
    proptest::collection::vec(query, number)
}

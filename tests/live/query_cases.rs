//! Random items, random operations that leave buckets in every state, and random conditions, each
//! once as typed fields and once, written by hand, as the driver's document for flat data.

use bucket_runtime::{
    Bucket, Filter,
    mongodb::bson::{Bson, DateTime, Document, Regex, doc, oid::ObjectId},
};
use proptest::{prelude::*, sample::select};

pub(crate) const CAPACITY: i32 = 4;

/// What an item holds; the structs below differ in their ids alone.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    pub(crate) region: &'static str,
    pub(crate) user: i64,
    pub(crate) millis: i64,
    pub(crate) price: Option<f64>,
    pub(crate) label: Option<&'static str>,
    pub(crate) tags: Vec<&'static str>,
    pub(crate) any: Bson,
}

impl Values {
    /// The item as a document of a flat collection, written by hand.
    pub(crate) fn flat(&self, n: i32) -> Document {
        let mut flat = doc! {
            "region": self.region,
            "userId": self.user,
            "at": DateTime::from_millis(self.millis),
            "n": n,
        };
        if let Some(price) = self.price {
            flat.insert("price", price);
        }
        flat.insert("label", self.label);
        flat.insert("tags", self.tags.clone());
        if self.any != Bson::Undefined {
            flat.insert("any", self.any.clone());
        }
        flat
    }
}

/// One of the structs.
pub(crate) trait Event: Bucket<Key = (String, i64)> + std::fmt::Debug {
    fn new(values: &Values, n: i32) -> Self;
    fn n(&self) -> i32;
    fn filter(test: &Test) -> Filter<Self>;
}

fn undefined() -> Bson {
    Bson::Undefined
}

fn is_undefined(value: &Bson) -> bool {
    *value == Bson::Undefined
}

macro_rules! events {
    ($($name:ident($id:literal))+) => {$(
        #[derive(Debug, Bucket)]
        #[serde(rename_all = "camelCase")]
        #[bucket(collection = "events", id = $id, capacity = CAPACITY, items = "history")]
        pub(crate) struct $name {
            region: String,
            user_id: i64,
            at: DateTime,
            #[serde(rename = "n")]
            number: i32,
            #[serde(skip_serializing_if = "Option::is_none")]
            price: Option<f64>,
            label: Option<String>,
            tags: Vec<String>,
            #[serde(default = "undefined", skip_serializing_if = "is_undefined")]
            any: Bson,
        }

        impl Event for $name {
            fn new(values: &Values, n: i32) -> Self {
                Self {
                    region: values.region.to_owned(),
                    user_id: values.user,
                    at: DateTime::from_millis(values.millis),
                    number: n,
                    price: values.price,
                    label: values.label.map(str::to_owned),
                    tags: values.tags.iter().map(|tag| (*tag).to_owned()).collect(),
                    any: values.any.clone(),
                }
            }

            fn n(&self) -> i32 {
                self.number
            }

            fn filter(test: &Test) -> Filter<Self> {
                let event = Self::FIELDS;
                let at = DateTime::from_millis;
                match test.clone() {
                    Test::Region("=", value) => event.region.eq(value),
                    Test::Region("!=", value) => event.region.ne(value),
                    Test::Region(_, value) => event.region.gt(value),
                    Test::User("=", value) => event.user_id.eq(value),
                    Test::User("!=", value) => event.user_id.ne(value),
                    Test::User(_, value) => event.user_id.lte(value),
                    Test::Users(values) => event.user_id.is_in(values),
                    Test::Time(from, to) => event.at.between(at(from)..at(to)),
                    Test::Since(from) => event.at.gte(at(from)),
                    Test::Number("=", value) => event.number.eq(value),
                    Test::Number(_, value) => event.number.lt(value),
                    Test::Numbers(from, to) => event.number.between(from..=to),
                    Test::Price("=", value) => event.price.eq(value),
                    Test::Price("!=", value) => event.price.ne(value),
                    Test::Price(op, value) => match (op, value.unwrap_or(1.0)) {
                        ("<", value) => event.price.lt(value),
                        ("<=", value) => event.price.lte(value),
                        (">", value) => event.price.gt(value),
                        (_, value) => event.price.gte(value),
                    },
                    Test::Prices(values) => event.price.is_in(values),
                    Test::PriceExists(exists) => event.price.exists(exists),
                    Test::Label("=", Some(value)) => event.label.eq(value),
                    Test::Label("=", None) => event.label.eq(None),
                    Test::Label(_, Some(value)) => event.label.lt(value),
                    Test::Label(_, None) => event.label.ne(None),
                    Test::Tags("=", values) => event.tags.eq(owned(&values)),
                    Test::Tags(_, values) => event.tags.ne(owned(&values)),
                    Test::Tag(value) => event.tags.contains(value),
                    Test::Any("=", value) => event.any.eq(value),
                    Test::Any("!=", value) => event.any.ne(value),
                    Test::Any(op, value) => event.any.is(doc! { op: value }),
                    Test::AnyOf(values) => event.any.is_in(values),
                    Test::AnyType(name) => event.any.is(doc! { "$type": name }),
                    Test::And(a, b) => Self::filter(&a).and(Self::filter(&b)),
                    Test::Or(a, b) => Self::filter(&a).or(Self::filter(&b)),
                    Test::Not(test) => !Self::filter(&test),
                    Test::All => Filter::default(),
                }
            }
        }
    )+};
}

events! {
    Seconds("{region}/{user_id}_{at}")
    Millis("{region}/{user_id}_{at:millis}")
    Numbered("{region}/{user_id}_{#}")
}

fn owned(tags: &[&str]) -> Vec<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

/// A condition.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    Region(&'static str, &'static str),
    User(&'static str, i64),
    Users(Vec<i64>),
    Time(i64, i64),
    Since(i64),
    Number(&'static str, i32),
    Numbers(i32, i32),
    Price(&'static str, Option<f64>),
    Prices(Vec<Option<f64>>),
    PriceExists(bool),
    Label(&'static str, Option<&'static str>),
    Tags(&'static str, Vec<&'static str>),
    Tag(&'static str),
    Any(&'static str, Bson),
    AnyOf(Vec<Bson>),
    AnyType(&'static str),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
    Not(Box<Test>),
    All,
}

impl Test {
    /// The condition on flat data, written by hand.
    pub(crate) fn by_hand(&self) -> Document {
        let at = DateTime::from_millis;
        match self.clone() {
            Self::Region("=", value) => doc! { "region": value },
            Self::Region("!=", value) => doc! { "region": { "$ne": value } },
            Self::Region(_, value) => doc! { "region": { "$gt": value } },
            Self::User("=", value) => doc! { "userId": value },
            Self::User("!=", value) => doc! { "userId": { "$ne": value } },
            Self::User(_, value) => doc! { "userId": { "$lte": value } },
            Self::Users(values) => doc! { "userId": { "$in": values } },
            Self::Time(from, to) => doc! { "at": { "$gte": at(from), "$lt": at(to) } },
            Self::Since(from) => doc! { "at": { "$gte": at(from) } },
            Self::Number("=", value) => doc! { "n": value },
            Self::Number(_, value) => doc! { "n": { "$lt": value } },
            Self::Numbers(from, to) => doc! { "n": { "$gte": from, "$lte": to } },
            Self::Price("=", value) => doc! { "price": value },
            Self::Price("!=", value) => doc! { "price": { "$ne": value } },
            Self::Price(op, value) => {
                let op = match op {
                    "<" => "$lt",
                    "<=" => "$lte",
                    ">" => "$gt",
                    _ => "$gte",
                };
                doc! { "price": { op: value.unwrap_or(1.0) } }
            }
            Self::Prices(values) => {
                let values: Vec<_> = values.into_iter().map(Bson::from).collect();
                doc! { "price": { "$in": values } }
            }
            Self::PriceExists(exists) => doc! { "price": { "$exists": exists } },
            Self::Label("=", value) => doc! { "label": value },
            Self::Label(_, Some(value)) => doc! { "label": { "$lt": value } },
            Self::Label(_, None) => doc! { "label": { "$ne": Bson::Null } },
            Self::Tags("=", values) => doc! { "tags": values },
            Self::Tags(_, values) => doc! { "tags": { "$ne": values } },
            Self::Tag(value) => doc! { "tags": value },
            Self::Any("=", value) => doc! { "any": { "$eq": value } },
            Self::Any("!=", value) => doc! { "any": { "$not": { "$eq": value } } },
            Self::Any(op, value) => doc! { "any": { op: value } },
            Self::AnyOf(values) if values.is_empty() => doc! { "any": { "$in": [] } },
            Self::AnyOf(values) => {
                let each = values
                    .into_iter()
                    .map(|value| doc! { "any": { "$eq": value } });
                doc! { "$or": each.collect::<Vec<_>>() }
            }
            Self::AnyType(name) => doc! { "any": { "$type": name } },
            Self::And(a, b) => doc! { "$and": [a.by_hand(), b.by_hand()] },
            Self::Or(a, b) => doc! { "$or": [a.by_hand(), b.by_hand()] },
            Self::Not(test) => doc! { "$nor": [test.by_hand()] },
            Self::All => doc! {},
        }
    }
}

/// A change of what is stored.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Append(Values),
    /// Seals an open bucket.
    Seal(usize),
    /// Takes the first item out of a bucket, as the contract has it.
    TakeOut(usize),
    /// Deletes a bucket.
    Delete(usize),
}

/// A read.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) key: Option<(&'static str, i64)>,
    pub(crate) test: Option<Test>,
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
        // What the first key field equals bounds the ids.
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
            // The server compares no order of regular expressions.
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
        proptest::option::weighted(0.65, test()),
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

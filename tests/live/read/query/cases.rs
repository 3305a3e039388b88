//! Items and conditions, each once as typed fields and once as the driver's hand-written document for
//! flat data.

use bucket_runtime::{
    Bucket, Filter,
    mongodb::bson::{Bson, DateTime, Document, doc},
};

pub(crate) const CAPACITY: i32 = 4;

/// The fields of an item; the structs below differ only in their ids.
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

/// Common to the structs.
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
    Windows("{region}/{user_id}_{at/2s}")
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
            Self::Prices(values) => doc! { "price": { "$in": values } },
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
                let each = values.into_iter();
                let each = each.map(|value| doc! { "any": { "$eq": value } });
                doc! { "$or": Vec::from_iter(each) }
            }
            Self::AnyType(name) => doc! { "any": { "$type": name } },
            Self::And(a, b) => doc! { "$and": [a.by_hand(), b.by_hand()] },
            Self::Or(a, b) => doc! { "$or": [a.by_hand(), b.by_hand()] },
            Self::Not(test) => doc! { "$nor": [test.by_hand()] },
            Self::All => doc! {},
        }
    }
}

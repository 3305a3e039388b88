//! A part reads each value as the whole struct does, whatever the serde attributes of the whole struct are and
//! whatever other programs have stored.

mod parents;

use bucket_runtime::{
    Bucket, Error, Part,
    mongodb::{
        Collection,
        bson::{Bson, Document, doc},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::support::database::Live;

type Time = chrono::DateTime<chrono::Utc>;

/// Stores 12.34 as 1234.
mod cents {
    use super::*;

    pub(super) fn serialize<S: Serializer>(amount: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        ((amount * 100.0).round() as i64).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(i64::deserialize(deserializer)? as f64 / 100.0)
    }
}

/// An amount that serde does not know.
#[derive(Debug, Clone, PartialEq)]
struct Tax(f64);

mod tax {
    use super::*;

    pub(super) fn serialize<S: Serializer>(tax: &Tax, serializer: S) -> Result<S::Ok, S::Error> {
        cents::serialize(&tax.0, serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tax, D::Error> {
        cents::deserialize(deserializer).map(Tax)
    }
}

fn trimmed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(String::deserialize(deserializer)?.trim().to_owned())
}

fn even<S: Serializer>(number: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    (number & !1).serialize(serializer)
}

fn one() -> i32 {
    1
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "payments", id = "{account}_{paid_at}", capacity = 3)]
struct Payment {
    account: i64,
    #[serde(alias = "at")]
    paid_at: Time,
    #[serde(with = "cents")]
    amount: f64,
    #[serde(with = "tax", default = "no_tax")]
    tax: Tax,
    #[serde(deserialize_with = "trimmed")]
    payee: String,
    #[serde(serialize_with = "even")]
    number: i32,
    #[serde(rename = "memo", alias = "remark", alias = "note")]
    text: Option<i32>,
    #[serde(default = "one")]
    shares: i32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default, with = "bucket_runtime::bson_date")]
    due: Option<Time>,
    #[serde(with = "bucket_runtime::own_date")]
    entered: Time,
    #[serde(skip_deserializing)]
    written: i32,
    #[serde(rename(serialize = "now", deserialize = "then"), alias = "now")]
    renamed: i32,
}

fn no_tax() -> Tax {
    Tax(0.5)
}

/// All fields, in an order of its own; its own attributes are about JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Part)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[part(of = Payment)]
struct Reversed {
    #[serde(rename = "then")]
    renamed: i32,
    written: i32,
    entered: Time,
    #[serde(skip)]
    due: Option<Time>,
    tags: Vec<String>,
    shares: i32,
    text: Option<i32>,
    number: i32,
    payee: String,
    #[serde(serialize_with = "tax::serialize")]
    tax: Tax,
    #[serde(with = "bucket_runtime::bson_date")]
    paid_at: Time,
    amount: f64,
    account: i64,
}

/// The part has these fields of the whole.
macro_rules! fields_of {
    ($whole:ident, $part:ident: $($field:ident)+) => {
        impl From<$whole> for $part {
            fn from(whole: $whole) -> Self {
                Self { $($field: whole.$field),+ }
            }
        }
    };
}
use fields_of;

fields_of! {
    Payment, Reversed: account paid_at amount tax payee number text shares tags due entered written renamed
}

fn moment(n: i64) -> Time {
    chrono::DateTime::from_timestamp_millis(1_700_000_000_000 + n * 1000).unwrap()
}

fn payment(account: i64, n: i64) -> Payment {
    Payment {
        account,
        paid_at: moment(n),
        amount: 12.34 + n as f64,
        tax: Tax(0.19),
        payee: format!(" payee {n} "),
        number: 4 + n as i32,
        text: (n > 0).then_some(5),
        shares: 3,
        tags: (0..n).map(|tag| tag.to_string()).collect(),
        due: (n > 1).then(|| moment(n + 10)),
        entered: moment(n + 20),
        written: 7,
        renamed: 8,
    }
}

/// Values that other programs may have stored in place of the second of three elements.
fn changes() -> Vec<Document> {
    let unset = |name: &str| doc! { "$unset": { name: 1 } };
    let rename = |from: &str, to: &str| doc! { "from": from, "to": to };
    let names = [
        "paidAt", "amount", "tax", "payee", "number", "memo", "shares", "tags", "due", "entered",
        "written", "now",
    ];
    let mut changes = Vec::from(names.map(unset));
    changes.extend([
        doc! { "$set": { "unknown": 1 } },
        rename("memo", "remark"),
        rename("memo", "note"),
        rename("memo", "text"),
        rename("paidAt", "at"),
        rename("now", "then"),
        rename("now", "renamed"),
        rename("amount", "AMOUNT"),
        doc! { "$set": { "remark": 6 } },
        doc! { "$set": { "then": 6 } },
        doc! { "$set": { "amount": "text" } },
        doc! { "$set": { "amount": 5.5 } },
        doc! { "$set": { "memo": null } },
        doc! { "$set": { "tags": null } },
        doc! { "$set": { "due": "text" } },
        doc! { "$set": { "paidAt": 5 } },
        doc! { "$set": { "account": 5 } },
    ]);
    changes
}

/// Changes one document in this way.
fn changed(document: &Document, change: &Document) -> Document {
    let mut changed = document.clone();
    if let Ok(fields) = change.get_document("$set") {
        changed.extend(fields.clone());
    }
    if let Ok(fields) = change.get_document("$unset") {
        changed.remove(fields.keys().next().unwrap());
    }
    if let (Ok(from), Ok(to)) = (change.get_str("from"), change.get_str("to")) {
        let value = changed.remove(from).unwrap();
        changed.insert(to, value);
    }
    changed
}

/// Both can be read, with the same values, or neither.
fn compare<W: Into<P>, P: PartialEq + std::fmt::Debug>(
    whole: Result<W, Error>,
    part: Result<P, Error>,
    change: &Document,
) -> bool {
    match (whole, part) {
        (Ok(whole), Ok(part)) => {
            assert_eq!(part, whole.into(), "{change}");
            true
        }
        (Err(whole), Err(part)) => {
            let is_told = whole.is_deserialize() && part.is_deserialize();
            assert!(is_told, "{whole}; {part}");
            false
        }
        (whole, part) => panic!("{change}: {:?}; {:?}", whole.err(), part.err()),
    }
}

#[bucket_testkit::test]
async fn a_part_of_an_item_is_read_as_the_item_is(db: Live) {
    let payments = Payment::buckets(&db).await.unwrap();
    let raw = payments.collection().clone_with_type::<Document>();
    let mut readable = 0;
    for (account, change) in (0..).zip(changes()) {
        for n in 0..3 {
            payments.append(&payment(account, n)).await.unwrap();
        }
        let bucket = raw.find_one(doc! { "account": account }).await.unwrap();
        let mut bucket = bucket.unwrap();
        let elements = bucket.get_array_mut("items").unwrap();
        let element = changed(elements[1].as_document().unwrap(), &change);
        elements[1] = Bson::Document(element);
        replace(&raw, &bucket).await;
        // Whole buckets, and single items.
        for limit in [None, Some(3)] {
            let read = || match limit {
                None => payments.items(&account),
                Some(limit) => payments.items(&account).limit(limit),
            };
            let whole = read().await.unwrap().map_ok(Reversed::from);
            let whole = whole.try_collect::<Vec<_>>().await;
            let parts = read().parts::<Reversed>().await.unwrap();
            let parts = parts.try_collect::<Vec<_>>().await;
            readable += u32::from(compare(whole, parts, &change));
        }
    }
    // Half of the changes leave a readable item.
    assert_eq!(readable, 28);
}

async fn replace(raw: &Collection<Document>, document: &Document) {
    let id = doc! { "_id": document.get("_id").unwrap().clone() };
    let replaced = raw.replace_one(id, document).await.unwrap();
    assert_eq!(replaced.matched_count, 1);
}

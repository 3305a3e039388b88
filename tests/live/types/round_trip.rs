//! serde's attributes on an item: each value goes through `append` and `items`, and the raw driver
//! shows how it is stored.

use std::{collections::HashMap, fmt::Debug};

use bucket_runtime::{
    Bucket,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc, oid::ObjectId},
    },
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::support::database::{Live, documents, fresh, items};

pub(crate) const NOON: i64 = 1_698_321_600_000;

pub(crate) fn noon() -> DateTime {
    DateTime::from_millis(NOON)
}

/// Appends items of one key and reads them back. Returns the documents that hold them.
pub(crate) async fn round_trip<T: Bucket + PartialEq + Debug>(
    db: &Database,
    of_one_key: &[T],
) -> Vec<Document> {
    let buckets = fresh::<T>(db).await;
    for item in of_one_key {
        buckets.append(item).await.unwrap();
    }
    assert_eq!(items(&buckets, of_one_key[0].key()).await, of_one_key);
    documents(buckets.collection()).await
}

/// The elements of these buckets.
pub(crate) fn elements(stored: &[Document]) -> Vec<&Document> {
    let elements = stored.iter().map(|bucket| bucket.get_array("items"));
    let elements = elements.flat_map(Result::unwrap);
    elements.map(|item| item.as_document().unwrap()).collect()
}

mod as_text {
    use super::*;

    pub(super) fn serialize<S: Serializer>(level: &u8, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("level {level}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
        let text = String::deserialize(deserializer)?;
        let level = text["level ".len()..].parse();
        level.map_err(serde::de::Error::custom)
    }
}

fn seven() -> i32 {
    7
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[serde(rename_all = "camelCase")]
#[bucket(
    collection = "events",
    id = "{user_name}/{created_at}",
    capacity = 2,
    items = "events",
    count = "n"
)]
struct Event {
    #[serde(rename = "who", alias = "user")]
    user_name: String,
    created_at: DateTime,
    #[serde(alias = "oldName", alias = "olderName")]
    new_name: String,
    #[serde(rename(serialize = "given", deserialize = "given"))]
    both_ways: i32,
    #[serde(with = "as_text")]
    level: u8,
    #[serde(default)]
    added_later: i32,
    #[serde(default = "seven")]
    lucky_number: i32,
    #[serde(skip)]
    cache: Vec<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

fn event() -> Event {
    Event {
        user_name: "ada".into(),
        created_at: noon(),
        new_name: "name".into(),
        both_ways: 1,
        level: 3,
        added_later: 4,
        lucky_number: 5,
        cache: vec![],
        note: None,
    }
}

#[bucket_testkit::test]
async fn serdes_attributes_say_how_fields_are_written(db: Live) {
    let noted = Event {
        note: Some("note".into()),
        ..event()
    };
    let written = doc! {
        "createdAt": noon(), "newName": "name", "given": 1, "level": "level 3", "addedLater": 4,
        "luckyNumber": 5,
    };
    let mut written_noted = written.clone();
    written_noted.insert("note", "note");
    let expected = doc! {
        "_id": "ada/1698321600", "who": "ada", "events": [written, written_noted], "n": 2,
    };
    let stored = round_trip(&db, &[event(), noted]).await;
    // `events` comes before `n`: the server sorts the fields that an upsert sets.
    assert_eq!(stored, [expected]);
}

#[bucket_testkit::test]
async fn serdes_attributes_say_how_older_documents_are_read(db: Live) {
    let events = Event::buckets(&db).await.unwrap();
    let element = |name: &str| {
        doc! { "createdAt": noon(), name: "name", "given": 1, "level": "level 3", "note": null }
    };
    let old = doc! {
        "_id": "ada/1698321600", "user": "ada", "n": 2,
        "events": [element("oldName"), element("olderName")],
    };
    events.collection().insert_one(old).await.unwrap();
    let read = Event {
        added_later: 0,
        lucky_number: 7,
        ..event()
    };
    assert_eq!(items(&events, "ada").await, [read.clone(), read]);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Origin {
    owner: ObjectId,
    seen: DateTime,
    big: i64,
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "flat", id = "{k}_{at}", capacity = 1)]
struct Flat {
    k: i64,
    at: DateTime,
    #[serde(flatten)]
    origin: Origin,
    #[serde(flatten)]
    rest: HashMap<String, i32>,
}

#[bucket_testkit::test]
async fn flattened_fields_stand_in_the_element(db: Live) {
    let (owner, seen) = (ObjectId::from_bytes([7; 12]), DateTime::from_millis(-1));
    let big = i64::MAX;
    let flat = Flat {
        k: 1,
        at: noon(),
        origin: Origin { owner, seen, big },
        rest: [("more".to_owned(), 5)].into(),
    };
    let stored = round_trip(&db, &[flat]).await;
    let expected = doc! { "at": noon(), "owner": owner, "seen": seen, "big": big, "more": 5 };
    assert_eq!(elements(&stored), [&expected]);
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[serde(deny_unknown_fields)]
#[bucket(collection = "strict", id = "{k}_{#}", capacity = 2)]
struct Strict {
    k: i64,
    n: i32,
}

#[bucket_testkit::test]
async fn unknown_fields_are_refused_if_the_struct_says_so(db: Live) {
    let strict = Strict::buckets(&db).await.unwrap();
    strict.append(&Strict { k: 1, n: 1 }).await.unwrap();
    assert!(strict.page(&1, 1).await.is_ok());
    let add = doc! { "$set": { "items.0.more": 1 } };
    strict.collection().update_one(doc! {}, add).await.unwrap();
    assert!(strict.page(&1, 1).await.unwrap_err().is_deserialize());
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[serde(default)]
#[bucket(collection = "defaults", id = "{k}_{#}", capacity = 2)]
struct Defaults {
    k: i64,
    n: i32,
    text: String,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            k: 99,
            n: 42,
            text: "default".into(),
        }
    }
}

#[bucket_testkit::test]
async fn what_an_element_lacks_comes_from_the_structs_default_and_the_key_does_not(db: Live) {
    let defaults = Defaults::buckets(&db).await.unwrap();
    let elements = vec![doc! {}, doc! { "text": "own" }];
    let bucket = doc! { "_id": "1_0000000000", "k": 1, "count": 2, "items": elements };
    defaults.collection().insert_one(bucket).await.unwrap();
    let read = |text: &str| Defaults {
        k: 1,
        n: 42,
        text: text.into(),
    };
    assert_eq!(items(&defaults, &1).await, [read("default"), read("own")]);
}

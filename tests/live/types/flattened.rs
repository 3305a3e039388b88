//! G1 for flattened fields: what holds a name twice is refused before anything is sent, with the name in the error.

use std::collections::BTreeMap;

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket, Error, Fields, Outlier,
    mongodb::bson::{Bson, DateTime, RawDocumentBuf, doc},
};
use serde::{Deserialize, Serialize};

use crate::{
    support::{
        database::{Live, items},
        ops,
    },
    types::read_back::stored,
};

type Rest = BTreeMap<String, Bson>;

fn rest(name: &str) -> Rest {
    [(name.to_owned(), Bson::from("soon"))].into()
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "events", id = "{user}_{at/1h}", capacity = 3)]
struct Event {
    #[serde(rename = "userId", alias = "account")]
    user: i64,
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    #[bucket(sum)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    amount: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "remark")]
    note: Option<String>,
    #[serde(flatten)]
    rest: Rest,
}

fn event(id: i64, rest: Rest) -> Event {
    Event {
        user: 1,
        at: DateTime::from_millis(id),
        id,
        amount: None,
        note: None,
        rest,
    }
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "two", id = "{k}_{#}", capacity = 3)]
struct Two {
    k: i64,
    #[serde(flatten)]
    one: Named,
    #[serde(flatten)]
    other: Named,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Named {
    name: String,
}

mod old {
    use super::{Bucket, DateTime};

    #[derive(Bucket)]
    #[bucket(collection = "old_events", id = "{user}_{#}", capacity = 3)]
    pub(super) struct Event {
        pub(super) user: i64,
        pub(super) at: DateTime,
    }
}

fn assert_names<V>(result: Result<V, Error>, name: &str, call: &str) {
    let error = result.err();
    let error = error.unwrap_or_else(|| panic!("{call} took `{name}`"));
    let text = error.to_string();
    let is_refused = error.is_serialize() && !error.is_maybe_stored();
    assert!(is_refused, "{call}: {text}");
    let is_named = text.contains(&format!("`{name}`"));
    assert!(is_named, "{call}, {name}: {text}");
}

/// Each call is refused with the name, and leaves everything as it is.
macro_rules! refused {
    ($name:expr, $stored:expr; $($call:expr;)+) => {
        let before = $stored.await;
        $(
            assert_names($call.await.map_err(Error::from), $name, stringify!($call));
            assert_eq!($stored.await, before, "{}, {}", $name, stringify!($call));
        )+
    };
}

#[bucket_testkit::test]
async fn g1_a_flattened_field_with_the_name_of_another_one_is_refused(db: Live) {
    let events = Event::buckets(&db).await.unwrap();
    let fine = Vec::from_iter((0..5).map(|id| event(id, rest("color"))));
    events.append_many(fine.clone()).await.unwrap();
    let by = |id| Event::FIELDS.id.eq(id);
    let mut session = db.client().start_session().await.unwrap();
    for name in ["userId", "account", "at", "id", "amount", "note", "remark"] {
        refused! {
            name, stored(events.collection(), doc! {});
            events.append(&event(10, rest(name)));
            events.append(&event(10, rest(name))).session(&mut session);
            events.append_or_get(&event(10, rest(name)));
            events.append_many((10..20).map(|id| event(id, rest(name))));
            events.append_many((10..12).map(|id| event(id, rest(name)))).session(&mut session);
            events.upsert_item(&event(10, rest(name)));
            events.upsert_item(&event(1, rest(name)));
            events.update_item(&1, by(2), |event| event.rest = rest(name));
            events.update_items(&1, by(2), |event| event.rest = rest(name));
        }
    }
    assert_eq!(items(&events, &1).await, fine);
    // A document of which the map takes a former name of the key.
    let flat = db.collection("flat");
    let document =
        doc! { "userId": 2_i64, "account": 3, "at": DateTime::from_millis(5), "id": 1_i64 };
    flat.insert_one(document).await.unwrap();
    let error = ops(&events).import_flat(&flat).await.unwrap_err();
    assert!(error.is_deserialize(), "{error}");
    assert!(error.to_string().contains("`account`"), "{error}");
    assert!(items(&events, &2).await.is_empty());
}

#[bucket_testkit::test]
async fn g1_a_migration_stores_no_name_twice(db: Live) {
    let old = old::Event::buckets(&db).await.unwrap();
    let at = DateTime::from_millis(5);
    old.append(&old::Event { user: 1, at }).await.unwrap();
    let convert = |old: old::Event| Event {
        user: old.user,
        at: old.at,
        ..event(1, rest("note"))
    };
    let migrated = Ops::<Event>::of(&db).migrate_from(convert).await;
    assert_names(migrated, "note", "migrate_from");
    let events = db.collection::<Event>("events");
    assert!(stored(&events, doc! {}).await.is_empty());
}

#[bucket_testkit::test]
async fn g1_two_flattened_structs_with_one_name_are_refused(db: Live) {
    let two = Two::buckets(&db).await.unwrap();
    let [one, other] = ["a", "b"].map(|name| Named { name: name.into() });
    let item = Two { k: 1, one, other };
    refused! {
        "name", stored(two.collection(), doc! {});
        two.append(&item);
        two.append_many(vec![item.clone(); 7]);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "books", reference = "book", threshold = 2)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "remark")]
    note: Option<String>,
    #[outlier(total)]
    #[serde(default)]
    in_all: u64,
    #[outlier(items, unique = n)]
    buyers: Vec<Buyer>,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
struct Buyer {
    n: i64,
    payload: RawDocumentBuf,
    #[serde(flatten)]
    rest: Rest,
}

fn buyer(n: i64, name: &str) -> Buyer {
    let payload = RawDocumentBuf::try_from(&doc! { "x": { "a": 1, "b": 2 } }).unwrap();
    let rest = rest(name);
    Buyer { n, payload, rest }
}

#[bucket_testkit::test]
async fn o1_a_name_that_stands_twice_in_a_parent_or_an_item_is_refused(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    let book = |id, rest| Book {
        id,
        note: None,
        in_all: 3,
        buyers: (0..3).map(|n| buyer(n, "color")).collect(),
        rest,
    };
    books.insert(&book(4, rest("color"))).await.unwrap();
    for name in ["_id", "note", "remark", "in_all", "buyers", "has_extras"] {
        refused! {
            name, stored(books.collection(), doc! {});
            books.insert(&book(5, rest(name)));
        }
        let update = books.update(&4, |book| book.rest.extend(rest(name)));
        match name {
            "has_extras" => assert!(update.await.unwrap_err().is_item_moved()),
            _ => assert_names(update.await, name, "update"),
        }
    }
    let noted = books.update(&4, |book| book.note = Some("b".into()));
    assert!(noted.await.unwrap());
    let mut twice = buyer(7, "color");
    let mut bytes = twice.payload.into_bytes();
    let name = bytes.windows(2).position(|name| name == b"b\0");
    bytes[name.unwrap()] = b'a';
    twice.payload = RawDocumentBuf::from_bytes(bytes).unwrap();
    let by = |n| Buyer::FIELDS.n.eq(n);
    for (name, buyer) in [("n", buyer(7, "n")), ("a", twice)] {
        refused! {
            name, stored(books.extras_collection(), doc! {});
            books.push(&4, buyer.clone());
            books.push_many(&4, [buyer.clone()]);
            books.upsert_item(&4, buyer.clone());
            books.update_item(&4, by(0), |item| *item = Buyer { n: 0, ..buyer.clone() });
            books.update_item(&4, by(2), |item| *item = Buyer { n: 2, ..buyer.clone() });
            books.insert(&Book { buyers: vec![buyer.clone()], ..book(5, rest("color")) });
        }
    }
    let mut all = books.get_all(&4).await.unwrap().unwrap();
    // The struct has no other field for the flag.
    assert_eq!(all.rest.remove("has_extras"), Some(true.into()));
    assert_eq!(all.note.take().as_deref(), Some("b"));
    assert_eq!(all, book(4, rest("color")));
    assert_eq!(stored(books.collection(), doc! {}).await.len(), 1);
}

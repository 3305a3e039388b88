//! G1 for payloads of strangers: a document that serde takes for a value of another type is either read as it was
//! written, or refused before anything is sent. The raw driver shows what is stored, as bytes.

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket, Error, Fields, Outlier,
    mongodb::{
        Collection,
        bson::{Bson, Document, RawDocumentBuf, doc},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::{
    database::{Live, items},
    scale::is_long,
};

/// Documents with the names of extended JSON, of all kinds: right ones, and ones that are none.
fn strange_documents() -> Vec<Document> {
    const HEX: &str = "0123456789abcdef01234567";
    let strange = vec![
        doc! { "$oid": HEX },
        doc! { "$oid": "nonsense" },
        doc! { "$symbol": "a" },
        doc! { "$numberInt": "5" },
        doc! { "$numberInt": "x" },
        doc! { "$numberLong": "5" },
        doc! { "$numberLong": "x" },
        doc! { "$numberDouble": "NaN" },
        doc! { "$numberDecimal": "1.5" },
        doc! { "$numberDecimalBytes": "x" },
        doc! { "$binary": { "base64": "AQI=", "subType": "00" } },
        doc! { "$uuid": "0e0e0e0e-0e0e-0e0e-0e0e-0e0e0e0e0e0e" },
        doc! { "$code": "x", "$scope": { "a": 1 } },
        doc! { "$timestamp": { "t": 1, "i": 2 } },
        doc! { "$regularExpression": { "pattern": "a", "options": "i" } },
        doc! { "$regex": "a", "$options": "i" },
        doc! { "$dbPointer": { "$ref": "a", "$id": { "$oid": HEX } } },
        doc! { "$date": "2026-01-02T03:04:05Z" },
        doc! { "$date": { "$numberLong": "5" } },
        doc! { "$date": "soon" },
        doc! { "$minKey": 1 },
        doc! { "$maxKey": 1 },
        doc! { "$undefined": true },
        doc! { "$undefined": "x" },
        doc! { "$ref": "books", "$id": 1 },
        doc! { "price": "$5", "$set": { "a": 1 } },
        doc! { "a": 1, "$oid": "second" },
    ];
    // Each may also lie deep inside: a few show that.
    let deep = strange.iter().step_by(if is_long() { 1 } else { 5 });
    let deep = deep.map(|strange| doc! { "deep": [1, { "x": strange }] });
    deep.chain(strange.clone()).collect()
}

/// A type that holds a document.
trait Payload: Clone + PartialEq {
    /// Whether it takes every document.
    const TAKES_ALL: bool;

    fn of(document: &Document) -> Self;
}

macro_rules! payloads {
    ($($ty:ty, $takes_all:literal, $of:expr;)+) => {$(
        impl Payload for $ty {
            const TAKES_ALL: bool = $takes_all;

            fn of(document: &Document) -> Self {
                ($of)(document.clone())
            }
        }
    )+};
}

type Map = BTreeMap<String, Bson>;

payloads! {
    Document, false, |document| document;
    Bson, false, Bson::Document;
    Map, false, Map::from_iter;
    RawDocumentBuf, true, |document: Document| RawDocumentBuf::try_from(&document).unwrap();
    serde_json::Value, true, |document: Document| json(&document.into());
}

/// Without the meaning of extended JSON, for values that JSON has.
fn json(value: &Bson) -> serde_json::Value {
    match value {
        Bson::Document(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), json(value)))
            .collect(),
        Bson::Array(values) => values.iter().map(json).collect(),
        Bson::String(text) => text.as_str().into(),
        Bson::Boolean(is) => (*is).into(),
        Bson::Int32(n) => (*n).into(),
        Bson::Int64(n) => (*n).into(),
        other => panic!("{other} is not JSON"),
    }
}

/// These documents of a collection, each as its bytes.
pub(crate) async fn stored<T: Send + Sync>(
    collection: &Collection<T>,
    filter: Document,
) -> Vec<RawDocumentBuf> {
    let raw = collection.clone_with_type::<RawDocumentBuf>();
    let found = raw.find(filter).sort(doc! { "_id": 1 }).await.unwrap();
    found.try_collect().await.unwrap()
}

/// All payloads that stand in these documents, wherever they are.
fn stored_payloads(documents: &[RawDocumentBuf]) -> Vec<Document> {
    fn collect(document: Document, found: &mut Vec<Document>) {
        for (name, value) in document {
            match value {
                Bson::Document(payload) if name == "payload" => found.push(payload),
                Bson::Document(inner) => collect(inner, found),
                Bson::Array(values) => {
                    for inner in values.iter().filter_map(Bson::as_document) {
                        collect(inner.clone(), found);
                    }
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    for document in documents {
        collect(Document::try_from(&**document).unwrap(), &mut found);
    }
    found
}

/// A call with a strange payload has stored it as it is, or has stored nothing and says what takes the payload.
fn assert_stored_or_refused<P: Payload, V>(
    call: &str,
    strange: &Document,
    result: Result<V, Error>,
    [before, after]: [&[RawDocumentBuf]; 2],
) {
    match result {
        Ok(_) => {
            let payloads = stored_payloads(after);
            let is_stored = payloads.iter().any(|stored| same(stored, strange));
            assert!(is_stored, "{call}, {strange}");
            let is_known = |stored: &Document| stored.is_empty() || same(stored, strange);
            let are_known = payloads.iter().all(is_known);
            assert!(are_known, "{call}, {strange}: {payloads:?}");
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!P::TAKES_ALL, "{call}, {strange}: {text}");
            let is_refused = error.is_serialize() && !error.is_maybe_stored();
            assert!(is_refused, "{call}, {strange}: {text}");
            assert!(text.contains("RawDocumentBuf"), "{call}, {strange}: {text}");
            assert_eq!(before, after, "{call}, {strange}");
        }
    }
}

/// Whether two documents are the same but for the width of their integers.
fn same(a: &Document, b: &Document) -> bool {
    json(&a.clone().into()) == json(&b.clone().into())
}

/// Makes the calls one after the other, and judges each.
macro_rules! calls {
    ($ty:ty, $strange:expr, $stored:expr; $($call:expr;)+) => {$(
        let before = $stored.await;
        let result = $call.await.map_err(Error::from);
        let both = [&before[..], &$stored.await];
        assert_stored_or_refused::<$ty, _>(stringify!($call), $strange, result, both);
    )+};
}

macro_rules! tests_of {
    ($($module:ident: $ty:ty;)+) => {$(
        mod $module {
            use super::*;

            #[derive(Debug, Clone, Bucket)]
            #[bucket(collection = "notes", id = "{k}_{#}", capacity = 3)]
            struct Note {
                k: i64,
                #[bucket(unique)]
                n: i64,
                payload: $ty,
            }

            #[bucket_testkit::test]
            async fn g1_a_strange_payload_of_an_item_is_read_or_refused(db: Live) {
                let mut session = db.client().start_session().await.unwrap();
                let notes = Note::buckets(&db).await.unwrap();
                for (k, strange) in (0..).zip(strange_documents()) {
                    let note = |n| Note { k, n, payload: <$ty>::of(&strange) };
                    let plain = |n| Note { k, n, payload: <$ty>::of(&doc! {}) };
                    notes.append_many((1..5).map(plain)).await.unwrap();
                    let by = |n| Note::FIELDS.n.eq(n);
                    calls! {
                        $ty, &strange, stored(notes.collection(), doc! { "k": k });
                        notes.append(&note(10));
                        notes.append(&note(11)).session(&mut session);
                        notes.append_or_get(&note(12));
                        notes.append_many((20..30).map(note));
                        notes.append_many((30..33).map(note)).session(&mut session);
                        notes.upsert_item(&note(40));
                        notes.upsert_item(&note(1));
                        notes.update_item(&k, by(2), |item| item.payload = note(0).payload);
                        notes.update_items(&k, by(3), |item| item.payload = note(0).payload);
                    }
                    for item in items(&notes, &k).await {
                        assert!([note(0).payload, plain(0).payload].contains(&item.payload), "{strange}");
                    }
                }
            }

            #[derive(Debug, Clone, Serialize, Deserialize, Outlier)]
            #[outlier(collection = "books", reference = "book", threshold = 2, extras_capacity = 3)]
            struct Book {
                #[serde(rename = "_id")]
                id: i64,
                payload: $ty,
                #[outlier(items, unique = n)]
                readers: Vec<Reader>,
            }

            #[derive(Debug, Clone, Serialize, Deserialize, Fields)]
            struct Reader {
                n: i64,
                payload: $ty,
            }

            #[bucket_testkit::test]
            async fn o1_a_strange_payload_of_a_parent_is_read_or_refused(db: Live) {
                let mut session = db.client().start_session().await.unwrap();
                let books = Book::outliers(&db).await.unwrap();
                for (n, strange) in (0_i64..).zip(strange_documents()) {
                    let ids @ [small, large, third, fourth] = [1, 2, 3, 4].map(|id| 10 * n + id);
                    let plain = || <$ty>::of(&doc! {});
                    let payload = || <$ty>::of(&strange);
                    let reader = |n| Reader { n, payload: payload() };
                    for (id, len) in [(small, 1), (large, 3)] {
                        let readers = (0..len).map(|n| Reader { n, payload: plain() }).collect();
                        books.insert(&Book { id, payload: plain(), readers }).await.unwrap();
                    }
                    let book = |id| Book { id, payload: payload(), readers: vec![] };
                    let by = |n| Reader::FIELDS.n.eq(n);
                    let both = async || {
                        let extras = stored(books.extras_collection(), doc! { "book": { "$in": &ids[..] } });
                        let parents = stored(books.collection(), doc! { "_id": { "$in": &ids[..] } });
                        [parents.await, extras.await].concat()
                    };
                    calls! {
                        $ty, &strange, both();
                        books.insert(&book(third));
                        books.insert(&Book { payload: plain(), readers: (0..4).map(reader).collect(), ..book(fourth) });
                        books.push(&small, reader(10));
                        books.push(&small, reader(11)).session(&mut session);
                        books.push(&large, reader(12));
                        books.push_many(&large, (20..30).map(reader));
                        books.upsert_item(&large, reader(30));
                        books.upsert_item(&large, reader(0));
                        books.upsert_item(&large, reader(2));
                        books.update(&small, |book| book.payload = payload());
                        books.update_item(&small, by(0), |reader| reader.payload = payload());
                        books.update_item(&large, by(1), |reader| reader.payload = payload());
                        books.update_items(&large, by(2), |reader| reader.payload = payload());
                    }
                    for id in ids {
                        let Some(book) = books.get_all(&id).await.unwrap() else { continue };
                        let readers = book.readers.into_iter().map(|reader| reader.payload);
                        for read in readers.chain([book.payload]) {
                            assert!([payload(), plain()].contains(&read), "{strange}: {read:?}");
                        }
                    }
                }
            }
        }
    )+};
}

tests_of! {
    documents: Document;
    any_bson: Bson;
    maps: Map;
    raw_documents: RawDocumentBuf;
    json_values: serde_json::Value;
}

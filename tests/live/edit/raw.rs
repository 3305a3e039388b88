//! Items whose payload serde reads as values of other types, and documents that are not buckets.

use std::convert::Infallible;

use bucket_ops::{OutlierOps, ProblemKind};
use bucket_runtime::{
    Bucket, Outlier,
    bson::{
        Binary, Bson, DateTime, Document, RawDocumentBuf, Timestamp, doc, oid::ObjectId,
        spec::BinarySubtype,
    },
};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::support::{
    database::{Live, items},
    ops,
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "raw_notes", id = "{owner}_{#}", capacity = 10)]
struct Note {
    owner: i64,
    n: i32,
    payload: Bson,
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "raw_sums", id = "{owner}_{#}", capacity = 10)]
struct Summed {
    owner: i64,
    #[bucket(sum)]
    n: i32,
    payload: Bson,
}

/// A note whose payload may be any document.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "raw_notes", id = "{owner}_{#}", capacity = 10)]
struct RawNote {
    owner: i64,
    n: i32,
    payload: RawDocumentBuf,
}

/// Appends a note with each payload, to the key that `owner` gives it.
async fn append(db: &Live, payloads: Vec<Bson>, owner: impl Fn(i32) -> i64) {
    let notes = RawNote::buckets(db).await.unwrap();
    for (n, payload) in (0..).zip(payloads) {
        let (owner, payload) = (owner(n), payload.as_document().unwrap());
        let payload = RawDocumentBuf::try_from(payload).unwrap();
        notes.append(&RawNote { owner, n, payload }).await.unwrap();
    }
}

/// Documents that serde takes for values of other types.
fn payloads() -> Vec<Bson> {
    let hex = "65a1b2c3d4e5f60718293a4b";
    [
        doc! { "$oid": hex },
        doc! { "$date": { "$numberLong": "5" } },
        doc! { "$numberInt": "5" },
        doc! { "$numberLong": "5" },
        doc! { "$numberDouble": "1.5" },
        doc! { "$binary": { "base64": "AAEC", "subType": "00" } },
        doc! { "$uuid": "c8edabc3-f738-4ca3-b68d-ab92a91478a3" },
        doc! { "$undefined": true },
        doc! { "$symbol": "s" },
        doc! { "$minKey": 1 },
        doc! { "$maxKey": 1 },
        doc! { "$code": "f()" },
        doc! { "deep": [{ "in": { "$oid": hex } }, 1.0, Bson::Undefined, f64::INFINITY] },
        doc! { "types": [
            Bson::Null, true, 1, 2_i64, 0.5, "text", DateTime::from_millis(-1),
            Bson::MinKey, Bson::MaxKey, Bson::Undefined,
            ObjectId::from_bytes([7; 12]),
            Bson::Decimal128("1.50".parse().unwrap()),
            Bson::Timestamp(Timestamp { time: 1, increment: 2 }),
            Bson::Binary(Binary { subtype: BinarySubtype::UserDefined(0x80), bytes: vec![0, 255] }),
            Bson::JavaScriptCode("f()".to_owned()),
            Bson::Symbol("s".to_owned()),
            {}, [],
        ] },
        (0..40).fold(doc! { "$oid": hex }, |inner, _| doc! { "in": [inner] }),
    ]
    .map(Bson::Document)
    .to_vec()
}

/// All buckets, as bytes.
async fn stored(db: &Live, name: &str) -> Vec<RawDocumentBuf> {
    let raw = db.collection::<RawDocumentBuf>(name);
    let rows = raw.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    rows.try_collect().await.unwrap()
}

fn elements(bucket: &RawDocumentBuf, items: &str) -> Vec<Bson> {
    let elements = bucket.get_array(items).unwrap().into_iter();
    let elements = elements.map(|element| Bson::try_from(element.unwrap()).unwrap());
    elements.collect()
}

#[bucket_testkit::test]
async fn payloads_that_look_like_extended_json_are_edited_and_removed(db: Live) {
    append(&db, payloads(), |_| 1).await;
    let notes = Note::buckets(&db).await.unwrap();
    let count = payloads().len() as i32;
    // A change of another field leaves the payload as it is stored.
    let changed = notes.update_all_items(Default::default(), |note| note.n += 100);
    assert_eq!(changed.await.unwrap(), count as u64);
    let buckets = stored(&db, "raw_notes").await;
    let found = buckets.iter().flat_map(|it| elements(it, "items"));
    let found = Vec::from_iter(found);
    let model: Vec<Bson> = (100..)
        .zip(payloads())
        .map(|(n, payload)| doc! { "n": n, "payload": payload }.into())
        .collect();
    assert_eq!(found, model);
    let first = notes.remove_stored(&1, Note::FIELDS.n.eq(100));
    assert_eq!(first.await.unwrap().as_ref(), model.first());
    let removed = notes.remove_all_items(Default::default()).await;
    assert_eq!(removed.unwrap(), count as u64 - 1);
}

#[bucket_testkit::test]
async fn neighbours_with_a_name_twice_keep_their_bytes(db: Live) {
    let sums = Summed::buckets(&db).await.unwrap();
    for n in 0..3 {
        let (owner, payload) = (1, Bson::Int32(n));
        sums.append(&Summed { owner, n, payload }).await.unwrap();
    }
    // The middle item gets a payload that holds the name `b` twice.
    let [bucket] = &stored(&db, "raw_sums").await[..] else {
        panic!("there is one bucket");
    };
    let mark = |name: &str| doc! { "a": 1, name: { "x": [1.0, "t"] }, "c": 2 };
    let twin = Document::from_iter([("b".to_owned(), Bson::Null), ("q".to_owned(), Bson::Null)]);
    let mut plain = Document::try_from(bucket.as_ref()).unwrap();
    let items = plain.get_array_mut("items").unwrap();
    items[1] = doc! { "n": 1, "payload": [mark("b"), twin] }.into();
    let mut bytes = RawDocumentBuf::try_from(&plain).unwrap().into_bytes();
    let at = bytes.windows(3).position(|it| it == b"\x0aq\0").unwrap();
    bytes[at + 1] = b'b';
    let twice = RawDocumentBuf::from_bytes(bytes).unwrap();
    let raw = db.collection::<RawDocumentBuf>("raw_sums");
    let id = doc! { "_id": bucket.get_str("_id").unwrap() };
    raw.replace_one(id, &twice).await.unwrap();
    assert_eq!(stored(&db, "raw_sums").await, std::slice::from_ref(&twice));
    let middle = |bucket: &RawDocumentBuf| {
        let element = bucket.get_array("items").unwrap().get(1).unwrap();
        element.unwrap().as_document().unwrap().to_owned()
    };
    // The edit and the removal of a neighbour compare the whole array.
    let edited = sums.update_item(&1, Summed::FIELDS.n.eq(0), |item| item.n = 7);
    assert_eq!(edited.await.unwrap().unwrap().n, 7);
    let removed = sums.remove_item(&1, Summed::FIELDS.n.eq(2)).await;
    assert!(removed.unwrap().is_some());
    assert_eq!(middle(&stored(&db, "raw_sums").await[0]), middle(&twice));
    // Its own edit would lose one of the two.
    let own = sums.update_item(&1, Summed::FIELDS.n.eq(1), |item| item.n = 9);
    assert!(own.await.unwrap_err().is_deserialize());
    assert_eq!(middle(&stored(&db, "raw_sums").await[0]), middle(&twice));
    let removed = sums.remove_items(&1, Summed::FIELDS.n.eq(1)).await;
    assert_eq!(removed.unwrap(), 1);
}

#[bucket_testkit::test]
async fn a_foreign_document_is_passed_over(db: Live) {
    append(&db, vec![doc! {}.into(); 12], |_| 5).await;
    let notes = Note::buckets(&db).await.unwrap();
    let raw = db.collection::<Document>("raw_notes");
    let foreign = doc! { "_id": "0", "items": [1] };
    raw.insert_one(foreign).await.unwrap();
    let changed = notes.update_all_items(Default::default(), |note| note.n += 1);
    let changed = changed.await;
    let removed = notes.remove_all_items(Default::default()).await;
    for error in [changed, removed].map(Result::unwrap_err) {
        assert!(error.error().is_deserialize(), "{error}");
        assert!(error.to_string().contains("\"0\""), "{error}");
        assert_eq!(error.so_far().items, 12);
    }
    assert_eq!(raw.count_documents(doc! { "_id": "0" }).await.unwrap(), 1);
}

#[bucket_testkit::test]
async fn a_bucket_without_a_count_is_read_and_counted_alike(db: Live) {
    append(&db, vec![doc! {}.into()], |_| 1).await;
    let notes = Note::buckets(&db).await.unwrap();
    let raw = db.collection::<Document>("raw_notes");
    let item = |n: i32| doc! { "n": n, "payload": null };
    let bare = doc! { "_id": "1_0000000001", "owner": 1_i64, "items": [item(1), item(2)] };
    raw.insert_one(bare).await.unwrap();
    let all: Vec<Note> = (notes.all_items().await.unwrap().try_collect().await).unwrap();
    let of_key = items(&notes, &1).await;
    assert_eq!((all.len(), of_key.len()), (3, 3));
    assert_eq!(notes.count_all().await.unwrap(), 3);
    assert_eq!(notes.count(&1).await.unwrap(), 3);
}

#[derive(Debug, Serialize, Deserialize, Outlier)]
#[outlier(collection = "raw_books", reference = "book", threshold = 4)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[outlier(items)]
    buyers: Vec<Bson>,
}

#[bucket_testkit::test]
async fn payloads_stay_as_they_are_when_a_parent_is_split(db: Live) {
    let parents = db.collection::<Document>("raw_books");
    let parent = doc! { "_id": 1, "buyers": payloads() };
    parents.insert_one(parent).await.unwrap();
    let books = Book::outliers(&db).await.unwrap();
    let repaired = OutlierOps::<Book>::of(&db).repair().await.unwrap();
    assert_eq!(repaired.repaired, [(ProblemKind::TooLarge, 1)].into());
    let kept = elements(&stored(&db, "raw_books").await[0], "buyers");
    let extras = stored(&db, books.extras_collection().name()).await;
    let moved = extras.iter().flat_map(|it| elements(it, "buyers_extra"));
    assert_eq!(Vec::from_iter(kept.into_iter().chain(moved)), payloads());
}

/// The lines of an export, as a reader gives them.
fn lines_of(lines: &[String]) -> impl Stream<Item = Result<String, Infallible>> + Send + use<> {
    stream::iter(lines.to_vec()).map(Ok)
}

#[bucket_testkit::test]
async fn payloads_leave_and_come_back_byte_for_byte(db: Live) {
    // Deeper than readers of JSON go.
    let deep = (0..65).fold(doc! {}, |inner, _| doc! { "in": [inner] });
    let mut all = payloads();
    all.push(deep.into());
    // Each payload has a line of its own.
    append(&db, all, i64::from).await;
    let notes = Note::buckets(&db).await.unwrap();
    let before = stored(&db, "raw_notes").await;
    let lines = ops(&notes).export_all().await.unwrap();
    let lines: Vec<String> = lines.try_collect().await.unwrap();
    let raw = db.collection::<Document>("raw_notes");
    raw.delete_many(doc! {}).await.unwrap();
    let imported = ops(&notes).import(lines_of(&lines)).await.unwrap();
    assert_eq!(imported.refused, []);
    assert_eq!(stored(&db, "raw_notes").await, before);

    // Also where the bucket is there, and has lost the items.
    let emptied = doc! { "$set": { "items": [], "count": 0 } };
    let emptied = raw.update_many(doc! {}, emptied).await.unwrap();
    assert_eq!(emptied.modified_count, before.len() as u64);
    let imported = ops(&notes).import(lines_of(&lines)).await.unwrap();
    assert_eq!(imported.refused, []);
    assert_eq!(imported.items, before.len() as u64);
    let of = |buckets: &[RawDocumentBuf]| -> Vec<Bson> {
        let all = buckets.iter().flat_map(|bucket| elements(bucket, "items"));
        all.collect()
    };
    assert_eq!(of(&stored(&db, "raw_notes").await), of(&before));
}

#[bucket_testkit::test]
async fn a_name_twice_is_exported_and_its_line_is_listed(db: Live) {
    append(&db, vec![doc! { "b": 1, "q": 2 }.into(); 2], i64::from).await;
    let notes = Note::buckets(&db).await.unwrap();
    let [first, second] = &stored(&db, "raw_notes").await[..] else {
        panic!("there are two buckets");
    };
    let mut bytes = first.clone().into_bytes();
    let at = bytes.windows(3).position(|it| it == b"\x10q\0").unwrap();
    bytes[at + 1] = b'b';
    let twice = RawDocumentBuf::from_bytes(bytes).unwrap();
    let raw = db.collection::<RawDocumentBuf>("raw_notes");
    let id = doc! { "_id": first.get_str("_id").unwrap() };
    raw.replace_one(id, &twice).await.unwrap();
    let lines = ops(&notes).export_all().await.unwrap();
    let lines: Vec<String> = lines.try_collect().await.unwrap();
    assert_eq!(lines.len(), 2);

    raw.delete_many(doc! {}).await.unwrap();
    let imported = ops(&notes).import(lines_of(&lines)).await.unwrap();
    let [refused] = &imported.refused[..] else {
        panic!("{imported:?}");
    };
    let text = refused.to_string();
    assert!(
        text.starts_with("line 1: ") && text.contains("a name twice"),
        "{text}"
    );
    assert_eq!(stored(&db, "raw_notes").await, std::slice::from_ref(second));
}

//! Assumptions of the library about what change streams report about each of its writes, with the raw driver
//! alone.

use bucket_runtime::mongodb::{
    Collection, Database,
    bson::{Bson, Document, doc},
    change_stream::event::{ChangeStreamEvent, OperationType},
};

use crate::support::database::{Live, number};

/// Items with these texts, and their number.
fn items(texts: &[&str]) -> (Vec<Document>, i32) {
    let items = texts.iter().map(|text| doc! { "text": *text });
    (items.collect(), i32::try_from(texts.len()).unwrap())
}

/// A bucket of items that are long or short compared with their description in an event.
async fn bucket(db: &Database, texts: &[&str]) -> Collection<Document> {
    let collection = db.collection("notes");
    let (items, count) = items(texts);
    let bucket = doc! { "_id": "a", "count": count, "items": items };
    collection.insert_one(bucket).await.unwrap();
    collection
}

/// The event for an update of the bucket.
async fn told(
    notes: &Collection<Document>,
    update: impl Into<bucket_runtime::mongodb::options::UpdateModifications>,
) -> ChangeStreamEvent<Document> {
    let mut stream = notes.watch().await.unwrap();
    let update = notes.update_one(doc! { "_id": "a" }, update);
    assert_eq!(update.await.unwrap().modified_count, 1);
    loop {
        if let Some(event) = stream.next_if_any().await.unwrap() {
            return event;
        }
    }
}

fn updated(event: ChangeStreamEvent<Document>) -> (Document, bool) {
    let update = event.update_description.expect("an update");
    let is_cut = !update.truncated_arrays.unwrap_or_default().is_empty();
    (update.updated_fields, is_cut)
}

fn push(texts: &[&str]) -> Document {
    let (items, count) = items(texts);
    doc! { "$push": { "items": { "$each": items } }, "$inc": { "count": count } }
}

fn remove(at: i32) -> Vec<Document> {
    let after = doc! { "$slice": ["$items", at + 1, i32::MAX] };
    let parts = match at {
        0 => vec![after],
        _ => vec![doc! { "$slice": ["$items", at] }, after],
    };
    vec![
        doc! { "$set": { "items": { "$concatArrays": parts } } },
        doc! { "$set": { "count": { "$size": "$items" } } },
    ]
}

const LONG: &str = "a text that is longer than what is told about an item of the array that has it, \
    which is why the server tells what has changed and not what there is";

#[bucket_testkit::test]
async fn a_push_is_told_by_places_and_the_count(db: Live) {
    let notes = bucket(&db, &["x"]).await;
    let (fields, is_cut) = updated(told(&notes, push(&["y"])).await);
    assert_eq!(fields, doc! { "count": 2, "items.1": { "text": "y" } });
    assert!(!is_cut);
    // Many items at once, with the fields in any order: as text, the tenth place comes before the
    // second.
    let (fields, _) = updated(told(&notes, push(&["z"; 10])).await);
    for place in 2..12 {
        assert!(fields.contains_key(format!("items.{place}")), "{fields}");
    }
    assert_eq!(fields.len(), 11);
}

#[bucket_testkit::test]
async fn an_edit_is_told_without_a_count(db: Live) {
    let notes = bucket(&db, &[LONG, LONG, LONG]).await;
    let item = doc! { "$literal": { "text": "new" } };
    let after = doc! { "$slice": ["$items", 1, i32::MAX] };
    let items = doc! { "$concatArrays": [[item], after] };
    let (fields, _) = updated(told(&notes, vec![doc! { "$set": { "items": items } }]).await);
    assert!(!fields.contains_key("count"), "{fields}");
    // An edit of a small document, or a large change, is reported as the whole document.
    let all = doc! { "$set": { "items": [{ "$literal": { "text": LONG } }] } };
    let told = told(&notes, vec![all]).await.operation_type;
    let ways = [OperationType::Update, OperationType::Replace];
    assert!(ways.contains(&told), "{told:?}");
}

/// A removal is reported as a shorter array, as a new one, or as the whole document: never as places
/// alone.
#[bucket_testkit::test]
async fn a_removal_is_told_in_one_of_three_ways(db: Live) {
    let notes = bucket(&db, &[LONG; 40]).await;
    for at in [39, 30] {
        assert!(updated(told(&notes, remove(at)).await).1, "{at}");
    }
    let event = told(&notes, remove(0)).await;
    if event.operation_type != OperationType::Replace {
        let (fields, is_cut) = updated(event);
        assert!(is_cut || fields.contains_key("items"), "{fields}");
    }
}

/// So the array alone does not distinguish such an append from a removal.
#[bucket_testkit::test]
async fn an_append_to_an_emptied_array_is_told_as_the_whole_array(db: Live) {
    let notes = bucket(&db, &[]).await;
    let (fields, _) = updated(told(&notes, push(&["x", "y"])).await);
    let items = vec![doc! { "text": "x" }, doc! { "text": "y" }];
    assert_eq!(fields, doc! { "count": 2, "items": items });
}

#[bucket_testkit::test]
async fn a_seal_is_told_without_items(db: Live) {
    let notes = bucket(&db, &["x"]).await;
    let event = told(&notes, vec![doc! { "$set": { "sealed": "$_id" } }]).await;
    if event.operation_type == OperationType::Update {
        assert_eq!(updated(event).0, doc! { "sealed": "a" });
    }
}

/// Each statement of a transaction or of a command is reported separately, in order.
#[bucket_testkit::test]
async fn the_statements_of_a_transaction_are_told_one_by_one(db: Live) {
    let notes = bucket(&db, &["x"]).await;
    let mut stream = notes.watch().await.unwrap();
    let mut session = notes.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let other = doc! { "_id": "b", "count": 1, "items": [{ "text": "x" }] };
    notes.insert_one(other).session(&mut session).await.unwrap();
    for id in ["a", "b"] {
        let update = notes.update_one(doc! { "_id": id }, push(&["y"]));
        update.session(&mut session).await.unwrap();
    }
    session.commit_transaction().await.unwrap();
    let mut events = Vec::new();
    while events.len() < 3 {
        events.extend(stream.next_if_any().await.unwrap());
    }
    let insert = events.remove(0);
    assert_eq!(insert.operation_type, OperationType::Insert);
    assert_eq!(number(insert.full_document.unwrap().get("count")), 1);
    for (event, id) in events.into_iter().zip(["a", "b"]) {
        let key = event.document_key.clone().unwrap();
        assert_eq!(key.get("_id"), Some(&Bson::from(id)));
        let expected = doc! { "count": 2, "items.1": { "text": "y" } };
        assert_eq!(updated(event).0, expected);
    }
}

//! Assumptions of an edit of a single item about the server, with the raw driver alone.

use bucket_runtime::mongodb::{
    Collection, Database,
    bson::{Bson, Document, doc},
    options::ReturnDocument,
};
use futures_util::TryStreamExt;

use super::refusal;
use crate::support::database::{Live, documents};

async fn holding(db: &Database, items: &[i32]) -> Collection<Document> {
    let collection = db.collection("notes");
    let items = Vec::from_iter(items.iter().map(|n| doc! { "n": n }));
    let bucket = doc! { "_id": "a", "count": 7, "items": items };
    collection.insert_one(bucket).await.unwrap();
    collection
}

async fn computed(collection: &Collection<Document>, expression: Document) -> Bson {
    let pipeline = [doc! { "$project": { "is": expression } }];
    let found = collection.aggregate(pipeline).await.unwrap();
    let mut found: Vec<Document> = found.try_collect().await.unwrap();
    found.remove(0).remove("is").unwrap_or(Bson::Undefined)
}

#[bucket_testkit::test]
async fn the_place_of_an_item_may_be_told_in_a_field_that_is_there(db: Live) {
    let notes = holding(&db, &[5, 6, 6]).await;
    let pipeline = [
        doc! { "$set": { "sealed": "$items" } },
        doc! { "$unwind": { "path": "$items", "includeArrayIndex": "count" } },
        doc! { "$match": { "items.n": 6 } },
        doc! { "$limit": 1 },
        doc! { "$project": { "count": 1, "one": ["$items"], "all": "$sealed" } },
    ];
    let found = notes.aggregate(pipeline).await.unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    let all = vec![doc! { "n": 5 }, doc! { "n": 6 }, doc! { "n": 6 }];
    let one = vec![doc! { "n": 6 }];
    let told = doc! { "_id": "a", "count": 1_i64, "one": one, "all": all };
    assert_eq!(found, [told]);
}

#[bucket_testkit::test]
async fn a_slice_ends_where_the_array_does_and_may_not_be_of_nothing(db: Live) {
    let notes = holding(&db, &[5, 6]).await;
    let array = |items: &[i32]| Bson::from(Vec::from_iter(items.iter().map(|n| doc! { "n": n })));
    for (slice, expected) in [
        (doc! { "$slice": ["$items", 1] }, &[5][..]),
        (doc! { "$slice": ["$items", 9] }, &[5, 6]),
        (doc! { "$slice": ["$items", 1, i32::MAX] }, &[6]),
        (doc! { "$slice": ["$items", 2, i32::MAX] }, &[]),
        (doc! { "$slice": ["$items", 9, i32::MAX] }, &[]),
    ] {
        let is = computed(&notes, slice.clone()).await;
        assert_eq!(is, array(expected), "{slice}");
    }
    let nothing = doc! { "$project": { "is": { "$slice": ["$items", 0, 0] } } };
    let error = notes.aggregate([nothing]).await.unwrap_err();
    assert!(error.to_string().contains("must be positive"), "{error}");
}

/// Whole elements are compared, with their fields in order. Past the end of the array nothing equals
/// anything, and numbers are equal whatever their type.
#[bucket_testkit::test]
async fn an_element_equals_itself_alone(db: Live) {
    let notes = holding(&db, &[5]).await;
    for (place, value, expected) in [
        (0, doc! { "n": 5 }.into(), true),
        (0, doc! { "n": 5.0 }.into(), true),
        (0, doc! { "n": 6 }.into(), false),
        (0, doc! { "n": 5, "m": 1 }.into(), false),
        (1, doc! { "n": 5 }.into(), false),
        (1, Bson::Null, false),
    ] {
        let element = doc! { "$arrayElemAt": ["$items", place] };
        let equal = doc! { "$eq": [element, { "$literal": value }] };
        let is = computed(&notes, equal.clone()).await;
        assert_eq!(is, Bson::Boolean(expected), "{equal}");
    }
}

/// An update that finds a document and leaves it unchanged still returns it, so no document means that
/// the condition did not hold.
#[bucket_testkit::test]
async fn a_document_that_is_left_as_it_is_was_found(db: Live) {
    let notes = holding(&db, &[5]).await;
    let before = documents(&notes).await;
    for (n, is_found) in [(5, true), (6, false)] {
        let equal = doc! { "$eq": [{ "$arrayElemAt": ["$items", 0] }, { "$literal": { "n": n } }] };
        let found = notes
            .find_one_and_update(
                doc! { "_id": "a", "$expr": equal },
                vec![doc! { "$set": { "items": "$items" } }],
            )
            .projection(doc! { "_id": 0, "count": 1, "sealed": 1 })
            .return_document(ReturnDocument::After);
        let expected = is_found.then(|| doc! { "count": 7 });
        assert_eq!(found.await.unwrap(), expected);
    }
    assert_eq!(documents(&notes).await, before);
}

/// A validator's refusal is an error of the command, and so is a duplicate: nothing was stored.
#[bucket_testkit::test]
async fn a_refusal_is_an_error_of_the_command(db: Live) {
    let notes = holding(&db, &[5]).await;
    let database = notes.client().database(&notes.namespace().db);
    let validator = doc! { "collMod": "notes", "validator": { "count": 7 } };
    database.run_command(validator).await.unwrap();
    let change = vec![doc! { "$set": { "count": 8 } }];
    let error = notes.find_one_and_update(doc! { "_id": "a" }, change).await;
    assert_eq!(refusal(&error.unwrap_err()).0, 121);
}

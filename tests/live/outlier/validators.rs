//! Validators of the outlier pattern: the threshold and the extras hold against any writer, and nothing
//! that the library writes is refused.

use bucket_runtime::{
    Outlier,
    mongodb::{
        Collection,
        bson::{Document, doc},
        error::{Error as DriverError, ErrorKind, WriteFailure},
    },
};

use crate::{
    outlier::support::{Book, Book3x2, items, remove, repair, repaired, survey},
    support::database::{Live, documents, number},
};

/// DocumentValidationFailure.
fn is_refusal(error: &DriverError) -> bool {
    match &*error.kind {
        ErrorKind::Write(WriteFailure::WriteError(error)) => error.code == 121,
        _ => false,
    }
}

async fn assert_refused(collection: &Collection<Document>, filter: Document, update: Document) {
    let before = documents(collection).await;
    let said = update.to_string();
    let error = collection.update_one(filter, update).await;
    let error = error.expect_err(&said);
    assert!(is_refusal(&error), "{said}: {error}");
    assert_eq!(documents(collection).await, before, "{said}");
}

#[bucket_testkit::test]
async fn no_write_of_the_library_is_refused(db: Live) {
    let raw = db.collection::<Document>("books");
    // Parents that are too long already, written by the manual's commands.
    for id in [70, 71] {
        let buyers = Vec::from_iter(0..9);
        let long = doc! { "_id": id, "title": "long", "buyers": buyers };
        raw.insert_one(long).await.unwrap();
    }
    let manual = doc! { "book_id": 70, "buyers_extra": [100, 101] };
    let extras = db.collection::<Document>("extra_books");
    extras.insert_one(manual).await.unwrap();

    Book3x2::create_collections(&db).await.unwrap();
    let books = Book3x2::outliers(&db).await.unwrap();
    for id in 0..4 {
        let buyers = Vec::from_iter(0..id * 4);
        books.insert(&Book3x2::new(id, buyers)).await.unwrap();
        for value in 100..110 {
            books.push(&id, value).await.unwrap();
        }
        books.push_many(&id, 200..220).await.unwrap();
    }
    books.push(&71, 9).await.unwrap();
    repaired(&books).await.unwrap();
    assert_eq!(items(&books, 71).await, Vec::from_iter(0..10));
    let of_manual = (0..9).chain([100, 101]);
    assert_eq!(items(&books, 70).await, Vec::from_iter(of_manual));

    // Removes values from the parent, from full pages, which are then sealed, and from open ones, which
    // may become empty.
    for value in (0..12).chain(100..110).step_by(2).chain(200..220) {
        for id in 0..4 {
            let _ = remove(&books, &id, value).await.unwrap();
        }
    }
    assert!(remove(&books, &70, 101).await.unwrap());
    let pages = documents(&extras).await;
    assert!(pages.iter().any(|page| page.contains_key("sealed")));
    for id in 0..4 {
        let before = items(&books, id).await;
        books.push_many(&id, 300..305).await.unwrap();
        let after = Vec::from_iter(before.into_iter().chain(300..305));
        assert_eq!(items(&books, id).await, after);
    }
    repair(&books).await.unwrap();
    assert!(books.delete(&70).await.unwrap());
    survey(&books).await;
}

#[bucket_testkit::test]
async fn what_would_break_the_threshold_or_the_extras_is_refused_from_any_writer(db: Live) {
    Book3x2::create_collections(&db).await.unwrap();
    let books = Book3x2::outliers(&db).await.unwrap();
    let book = Book3x2::new(1, (0..6).collect());
    books.insert(&book).await.unwrap();

    let (parents, extras) = (books.collection(), books.extras_collection());
    let parent = doc! { "_id": 1 };
    assert_refused(parents, parent.clone(), doc! { "$push": { "buyers": 9 } }).await;
    assert_refused(parents, parent.clone(), doc! { "$set": { "buyers": 9 } }).await;
    let long = doc! { "_id": 2, "title": "long", "buyers": [1, 2, 3, 4] };
    let error = parents.insert_one(long).await.unwrap_err();
    assert!(is_refusal(&error), "{error}");
    let error = parents
        .insert_one(doc! { "_id": "two", "buyers": [] })
        .await;
    let error = error.unwrap_err();
    assert!(is_refusal(&error), "{error}");

    let pages = documents(extras).await;
    assert_eq!(pages.len(), 2, "{pages:?}");
    let [full, open] = [0, 1].map(|n: usize| doc! { "_id": pages[n].get_str("_id").unwrap() });
    assert_eq!(number(pages[0].get("count")), 2);
    let push = doc! { "buyers_extra": 9 };
    let append = doc! { "$push": push.clone(), "$inc": { "count": 1 } };
    assert_refused(extras, full, append.clone()).await;
    assert_refused(extras, open.clone(), doc! { "$push": push }).await;
    assert_refused(extras, open.clone(), doc! { "$set": { "count": 2 } }).await;
    assert_refused(extras, open.clone(), doc! { "$unset": { "book_id": "" } }).await;
    let manual = doc! { "book_id": 1, "buyers_extra": [9] };
    let error = extras.insert_one(manual).await.unwrap_err();
    assert!(is_refusal(&error), "{error}");

    extras.update_one(open, append).await.unwrap();
    assert_eq!(items(&books, 1).await, [0, 1, 2, 3, 4, 5, 9]);
    let shorter = doc! { "$pop": { "buyers": 1 }, "$set": { "title": "x" } };
    parents.update_one(parent, shorter).await.unwrap();
}

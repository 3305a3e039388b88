//! The report of a failed call, and the documents stored after it.

use bucket_runtime::{
    Error, Outlier,
    mongodb::{
        IndexModel,
        bson::{Bson, doc},
        options::IndexOptions,
    },
};
#[cfg(not(feature = "bson-3"))]
use bucket_testkit::{
    Fate::{CutAfter, CutBefore},
    Proxy,
};
use futures_util::TryStreamExt;

#[cfg(not(feature = "bson-3"))]
use crate::support::database::server;
use crate::{
    outlier::{
        errors::items::{Album, album},
        support::{Book, Book3x2, Book3x5, fresh, reads_agree, remove, stored},
    },
    support::{
        assert_refused,
        database::{Live, documents},
    },
};

#[bucket_testkit::test]
async fn a_taken_id_is_refused_before_anything_is_stored(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    for begin in [0, 3, 8] {
        let book = Book3x2::new(7, (0..begin).collect());
        books.insert(&book).await.unwrap();
        let before = stored(&books).await;
        for values in [0, 3, 4, 20] {
            let book = Book3x2::new(7, (50..50 + values).collect());
            let error = books.insert(&book).await.unwrap_err();
            assert_refused(&error, Error::is_already_there);
            assert_eq!(error.stored(), 0, "{error}");
            let parents = books.collection().namespace().to_string();
            assert_eq!(error.collection(), parents);
            assert_eq!(error.key(), Some("\"7\""));
            assert_eq!(stored(&books).await, before);
        }
        books.push(&7, begin).await.unwrap();
        reads_agree(&books, 7, &stored(&books).await[&7]).await;
        books.delete(&7).await.unwrap();
    }
}

/// The driver sends an insertion again whose answer was lost, and the server knows the repetition. Only a caller
/// that repeats it is told that the parent is there.
#[cfg(not(feature = "bson-3"))]
#[bucket_testkit::test]
async fn an_insert_that_is_repeated_is_told_from_a_taken_id(db: Live) {
    let proxy = Proxy::start(server().await.uri()).await.unwrap();
    let books = fresh::<Book3x2>(&proxy.database(db.name()).unwrap()).await;
    for (id, fates) in [(1, &[CutAfter][..]), (2, &[CutBefore]), (3, &[CutAfter; 2])] {
        proxy.next("title", fates.iter().copied());
        let inserted = books.insert(&Book3x2::new(id, vec![5])).await;
        match inserted {
            Ok(()) => assert_eq!(fates.len(), 1),
            Err(error) => assert!(
                error.is_maybe_stored() && !error.is_already_there(),
                "{error}"
            ),
        }
        let again = books.insert(&Book3x2::new(id, vec![6])).await.unwrap_err();
        assert_refused(&again, Error::is_already_there);
        assert!(again.to_string().contains(&format!("\"{id}\"")), "{again}");
    }
    let stored = stored(&books).await;
    assert_eq!(stored.len(), 3);
    assert!(
        stored.values().all(|stored| stored.all() == [5]),
        "{stored:?}"
    );
}

#[bucket_testkit::test]
async fn a_unique_index_of_the_users_own_refuses_a_parent(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    let unique = IndexOptions::builder().unique(true).build();
    let index = IndexModel::builder()
        .keys(doc! { "title": 1 })
        .options(unique);
    books
        .collection()
        .create_index(index.build())
        .await
        .unwrap();
    let same_title = doc! { "_id": 1, "title": "book 7", "buyers": [] };
    books.collection().insert_one(same_title).await.unwrap();
    let book = Book3x2::new(7, (0..9).collect());
    let error = books.insert(&book).await.unwrap_err();
    assert!(error.is_duplicate(), "{error}");
    assert!(error.to_string().contains("title"), "{error}");
    assert_eq!(stored(&books).await.len(), 1);
}

#[bucket_testkit::test]
async fn a_document_of_another_type_is_named_by_its_id(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    for (id, bad) in [
        (41, doc! { "title": "t", "buyers": "none" }),
        (42, doc! { "title": 5, "buyers": [1] }),
        (43, doc! { "title": "t", "buyers": ["user00"] }),
        (44, doc! { "title": "t" }),
    ] {
        let mut document = doc! { "_id": id };
        document.extend(bad);
        books.collection().insert_one(document).await.unwrap();
        let errors = [
            books.get(&id.into()).await.unwrap_err(),
            books.get_all(&id.into()).await.unwrap_err(),
            books.items(&id.into()).await.err().unwrap(),
        ];
        for error in &errors {
            assert_eq!(error.key(), Some(format!("\"{id}\"").as_str()));
        }
        let mut found = books.find(doc! { "_id": id }).await.unwrap();
        let of_find = found.try_next().await.unwrap_err();
        for error in errors.iter().chain([&of_find]) {
            let text = error.to_string();
            assert!(error.is_deserialize(), "{text}");
            assert!(text.contains(&id.to_string()), "{text}");
            assert!(!text.contains("Some("), "not meant for people: {text}");
        }
    }
    // A page of extras is refused as well.
    let albums = fresh::<Album>(&db).await;
    albums.insert(&album(&[1, 1, 1, 1])).await.unwrap();
    let set = doc! { "$set": { "photos_extra": [5] } };
    let extras = albums.extras_collection();
    extras.update_one(doc! {}, set).await.unwrap();
    let error = albums.get_all("summer").await.unwrap_err();
    assert!(
        error.is_deserialize() && error.to_string().contains("summer_0000000000"),
        "{error}"
    );
    assert_eq!(error.collection(), extras.namespace().to_string());
    let parent = albums.get("summer").await.unwrap();
    assert!(parent.is_some(), "the parent is fine");
}

/// The validator of the extras refuses every change.
#[bucket_testkit::test]
async fn a_removal_that_the_extras_refuse_names_their_collection(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    let book = Book3x2::new(7, (0..5).collect());
    books.insert(&book).await.unwrap();
    let extras = books.extras_collection();
    let refusal = doc! { "collMod": extras.name(), "validator": { "$expr": false } };
    db.run_command(refusal).await.unwrap();
    let error = remove(&books, &7, 4).await.unwrap_err();
    let error = error.error();
    assert_eq!(error.collection(), extras.namespace().to_string());
    assert_eq!(error.key(), Some("\"7\""));
}

#[bucket_testkit::test]
async fn a_push_to_what_is_no_array_changes_nothing(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    for array in [
        Bson::from("none"),
        Bson::Int32(5),
        Bson::from(doc! { "a": 1 }),
        Bson::Null,
    ] {
        let parent = doc! { "_id": 7, "title": "t", "buyers": array };
        books.collection().insert_one(&parent).await.unwrap();
        let error = books.push(&7, 1).await.unwrap_err();
        assert!(!error.is_maybe_stored() && !error.is_not_found(), "{error}");
        assert_eq!(error.key(), Some("\"7\""));
        assert_eq!(documents(books.collection()).await, [parent]);
        assert_eq!(documents(books.extras_collection()).await, []);
        books.delete(&7).await.unwrap();
    }
    // A missing array counts as empty.
    let lacking = doc! { "_id": 7, "title": "book 7" };
    books.collection().insert_one(lacking).await.unwrap();
    books.push_many(&7, 0..5).await.unwrap();
    reads_agree(&books, 7, &stored(&books).await[&7]).await;
}

#[bucket_testkit::test]
async fn extras_of_another_capacity_are_not_opened(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    let book = Book3x2::new(1, (0..9).collect());
    books.insert(&book).await.unwrap();
    let error = Book3x5::outliers(&db).await.unwrap_err();
    assert!(error.is_capacity_mismatch(), "{error}");
    let said = "made with capacity 2, but the struct says 5; write `extras_capacity = 2`";
    assert!(error.to_string().contains(said), "{error}");
    books.delete(&1).await.unwrap();
    books.extras_collection().drop().await.unwrap();
    Book3x5::outliers(&db).await.unwrap();
}

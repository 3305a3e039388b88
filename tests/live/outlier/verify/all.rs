//! `repair` fixes all that it can, and reports what it cannot.

use bucket_ops::{OutlierOps, ProblemKind as Kind};
use bucket_runtime::{
    Outlier, Outliers,
    mongodb::{
        Database,
        bson::{Document, doc},
    },
};

use crate::support::problems::{assert_found, expected};
use crate::{
    outlier::support::{Book, Book3x2, fresh, items, remove, repair, verify},
    support::database::{Live, documents},
};

/// Parents of every healthy kind: empty, typical, full, outliers with an open and with a full page,
/// after removals, and one that the manual's commands inserted.
async fn healthy(db: &Database) -> Outliers<Book3x2> {
    let books = fresh::<Book3x2>(db).await;
    for (id, buyers) in (0..8).map(|id| (id, id)).chain([(8, 9)]) {
        let book = Book3x2::new(id, (0..buyers).collect());
        books.insert(&book).await.unwrap();
    }
    remove(&books, &8, 4).await.unwrap();
    remove(&books, &8, 0).await.unwrap();
    let manual = doc! { "_id": 9, "title": "book 9", "buyers": [0, 1, 2], "has_extras": true };
    books.collection().insert_one(manual).await.unwrap();
    books.push_many(&9, 3..9).await.unwrap();
    // A flag without extras.
    let flagged = doc! { "_id": 10, "title": "book 10", "buyers": [0], "has_extras": true };
    books.collection().insert_one(flagged).await.unwrap();
    books
}

#[bucket_testkit::test]
async fn a_healthy_collection_is_clean_and_stays_as_it_is(db: Live) {
    let books = healthy(&db).await;
    let everything = async || {
        let parents = documents(books.collection()).await;
        (parents, documents(books.extras_collection()).await)
    };
    let before = everything().await;
    assert_eq!(verify(&books).await.unwrap(), []);
    assert_eq!(repair(&books).await.unwrap(), []);
    assert_eq!(everything().await, before);
}

/// O4: extras are buckets, and verified as such. If a parent has two open documents, the extras cannot
/// be opened.
#[bucket_testkit::test]
async fn extras_that_do_not_open_are_listed_and_repaired(db: Live) {
    let parent = doc! { "_id": 1_i64, "title": "", "buyers": [0_i64, 1, 2], "has_extras": true };
    let parents = db.collection::<Document>(Book3x2::SPEC.collection);
    parents.insert_one(parent).await.unwrap();
    let page = |id: &str, items: Vec<i64>| {
        doc! { "_id": id, Book3x2::SPEC.reference: 1_i64, "count": items.len() as i64, Book3x2::SPEC.extra_items: items }
    };
    let mut sealed = page("1_0000000002", vec![5]);
    sealed.insert("sealed", "x");
    let open = [page("1_0000000000", vec![3]), page("1_0000000001", vec![4])];
    let foreign = page("x", vec![6, 7]);
    let extras = db.collection::<Document>(Book3x2::SPEC.extras);
    let all = open.into_iter().chain([sealed, foreign]);
    extras.insert_many(all).await.unwrap();

    assert!(Book3x2::outliers(&db).await.is_err());
    let mut problems = OutlierOps::<Book3x2>::of(&db)
        .verify()
        .await
        .unwrap()
        .problems;
    problems.sort_by_key(|problem| problem.kind);
    let open = ["1_0000000000", "1_0000000001"];
    // The newest of the two open ones stands before a third one.
    let found = [
        expected(Kind::SeveralOpen, open, "1", "O4: in the extras"),
        expected(Kind::ForeignId, ["x"], "1", "in the extras"),
        expected(Kind::WrongSeal, ["1_0000000002"], "1", "is not its own"),
        expected(Kind::OpenBeforeLast, ["1_0000000001"], "1", "is open"),
    ];
    assert_found(&problems, &found);

    let repaired = OutlierOps::<Book3x2>::of(&db).repair().await.unwrap();
    assert_eq!(repaired.left, []);
    let books = Book3x2::outliers(&db).await.unwrap();
    // What the foreign document held comes before the others.
    assert_eq!(items(&books, 1).await, [0, 1, 2, 6, 7, 3, 4, 5]);
}

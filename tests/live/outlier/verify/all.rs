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
    outlier::support::{Book, books, fresh, items, remove, repair, verify},
    support::database::{Live, documents},
};

books! {
    Book3(3, 2)
}

/// Parents of every healthy kind: empty, typical, full, outliers with an open and with a full page,
/// after removals, and one that the manual's commands inserted.
async fn healthy(db: &Database) -> Outliers<Book3> {
    let books = fresh::<Book3>(db).await;
    for (id, buyers) in (0..8).map(|id| (id, id)).chain([(8, 9)]) {
        let book = Book3::new(id, (0..buyers).collect());
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

async fn update(books: &Outliers<Book3>, id: i64, update: Document) {
    let updated = books
        .collection()
        .update_one(doc! { "_id": id }, update)
        .await;
    assert_eq!(updated.unwrap().modified_count, 1);
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

#[bucket_testkit::test]
async fn all_kinds_of_damage_at_once_are_mended_at_once(db: Live) {
    let books = healthy(&db).await;
    let extras = books.extras_collection();
    update(
        &books,
        2,
        doc! { "$set": { "buyers": (0..50_i64).collect::<Vec<_>>() } },
    )
    .await;
    update(&books, 4, doc! { "$unset": { "has_extras": "" } }).await;
    let set = doc! { "$set": { "count": 7 } };
    extras
        .update_one(doc! { "_id": "5_0000000000" }, set)
        .await
        .unwrap();
    books
        .collection()
        .delete_one(doc! { "_id": 7 })
        .await
        .unwrap();
    // Too long, and without its flag.
    let both = doc! { "$set": { "buyers": (20..31_i64).collect::<Vec<_>>() }, "$unset": { "has_extras": "" } };
    update(&books, 6, both).await;
    let of_parent = |kind, id: i64, text| expected(kind, [id], &*id.to_string(), text);
    let damages = [
        of_parent(Kind::TooLarge, 2, "with 50 items"),
        of_parent(Kind::TooLarge, 6, "with 11 items"),
        of_parent(Kind::NoFlag, 4, ""),
        of_parent(Kind::NoFlag, 6, ""),
        of_parent(Kind::NoParent, 7, "has 4 items in 2 extras documents"),
        expected(Kind::WrongCount, ["5_0000000000"], "5", "holds 2 items"),
    ];
    let mut found = verify(&books).await.unwrap();
    let mut sorted = damages.to_vec();
    found.sort_by_key(|problem| (problem.kind, problem.key.clone()));
    sorted.sort_by_key(|problem| (problem.kind, problem.key.clone()));
    assert_found(&found, &sorted);
    let of = (books.collection().clone(), extras.clone());
    let result = OutlierOps::<Book3>::in_collections(of.0, of.1)
        .repair()
        .await
        .unwrap();
    let kinds = [
        (Kind::NoFlag, 2),
        (Kind::TooLarge, 2),
        (Kind::WrongCount, 1),
    ];
    assert_eq!(result.repaired, kinds.into());
    assert_found(&result.left, &damages[4..5]);
    assert_eq!(repair(&books).await.unwrap(), []);
    assert_eq!(verify(&books).await.unwrap(), []);
    assert_eq!(items(&books, 2).await, (0..50).collect::<Vec<_>>());
    assert_eq!(items(&books, 4).await, (0..4).collect::<Vec<_>>());
    assert_eq!(items(&books, 5).await, (0..5).collect::<Vec<_>>());
    assert_eq!(
        items(&books, 6).await,
        (20..31).chain(3..6).collect::<Vec<_>>()
    );
}

/// O4: extras are buckets, and verified as such. If a parent has two open documents, the extras cannot
/// be opened.
#[bucket_testkit::test]
async fn extras_that_do_not_open_are_listed_and_repaired(db: Live) {
    let parent = doc! { "_id": 1_i64, "title": "", "buyers": [0_i64, 1, 2], "has_extras": true };
    let parents = db.collection::<Document>(Book3::SPEC.collection);
    parents.insert_one(parent).await.unwrap();
    let page = |id: &str, items: Vec<i64>| {
        doc! { "_id": id, Book3::SPEC.reference: 1_i64, "count": items.len() as i64, Book3::SPEC.extra_items: items }
    };
    let mut sealed = page("1_0000000002", vec![5]);
    sealed.insert("sealed", "x");
    let open = [page("1_0000000000", vec![3]), page("1_0000000001", vec![4])];
    let foreign = page("x", vec![6, 7]);
    let extras = db.collection::<Document>(Book3::SPEC.extras);
    let all = open.into_iter().chain([sealed, foreign]);
    extras.insert_many(all).await.unwrap();

    assert!(Book3::outliers(&db).await.is_err());
    let problems = OutlierOps::<Book3>::of(&db)
        .verify()
        .await
        .unwrap()
        .problems;
    let open = ["1_0000000000", "1_0000000001"];
    // The newest of the two open ones stands before a third one.
    let found = [
        expected(Kind::SeveralOpen, open, "1", "O4: in the extras"),
        expected(Kind::ForeignId, ["x"], "1", "in the extras"),
        expected(Kind::WrongSeal, ["1_0000000002"], "1", "is not its own"),
        expected(Kind::OpenBeforeLast, ["1_0000000001"], "1", "is open"),
    ];
    let mut problems = problems;
    problems.sort_by_key(|problem| problem.kind);
    assert_found(&problems, &found);

    assert_eq!(
        OutlierOps::<Book3>::of(&db).repair().await.unwrap().left,
        []
    );
    let books = Book3::outliers(&db).await.unwrap();
    // What the foreign document held comes before the others.
    assert_eq!(items(&books, 1).await, [0, 1, 2, 6, 7, 3, 4, 5]);
}

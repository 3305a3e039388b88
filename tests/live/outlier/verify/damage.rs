//! `verify` finds each kind of damage and nothing else, and `repair` fixes it.

use std::slice;

use bucket_runtime::{
    Outliers, ProblemKind as Kind,
    mongodb::{
        Database,
        bson::{Bson, Document, doc},
    },
};

use crate::support::problems::{Expected, assert_found, expected};
use crate::{
    outlier::support::{
        Book, books, fresh, items, reads_agree, remove, repair, stored, survey, verify,
    },
    support::database::{Live, documents},
};

books! {
    Book3(3, 2)
}

/// Parents of every healthy kind: empty, typical, full, outliers with an open and with a full page,
/// after removals, and one that the manual's commands inserted.
pub(crate) async fn healthy(db: &Database) -> Outliers<Book3> {
    let books = fresh::<Book3>(db).await;
    for id in 0..8 {
        books
            .insert(&Book3::new(id, (0..id).collect()))
            .await
            .unwrap();
    }
    books
        .insert(&Book3::new(8, (0..9).collect()))
        .await
        .unwrap();
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

async fn everything(books: &Outliers<Book3>) -> (Vec<Document>, Vec<Document>) {
    (
        documents(books.collection()).await,
        documents(books.extras_collection()).await,
    )
}

#[bucket_testkit::test]
async fn a_healthy_collection_is_clean_and_stays_as_it_is(db: Live) {
    let books = healthy(&db).await;
    let before = everything(&books).await;
    assert_eq!(verify(&books).await.unwrap(), []);
    assert_eq!(repair(&books).await.unwrap(), []);
    assert_eq!(everything(&books).await, before);
}

fn of_parent(kind: Kind, id: i64, text: &str) -> Expected {
    expected(kind, [id], &*id.to_string(), text)
}

/// Among healthy documents, exactly this problem is found and fixed.
async fn found_and_mended(books: &Outliers<Book3>, problem: Expected) {
    assert_found(&verify(books).await.unwrap(), slice::from_ref(&problem));
    assert_eq!(repair(books).await.unwrap(), [], "after {problem:?}");
    assert_eq!(verify(books).await.unwrap(), []);
    assert_eq!(repair(books).await.unwrap(), []);
}

pub(crate) async fn update(books: &Outliers<Book3>, id: i64, update: Document) {
    let updated = books
        .collection()
        .update_one(doc! { "_id": id }, update)
        .await;
    assert_eq!(updated.unwrap().modified_count, 1);
}

#[bucket_testkit::test]
async fn an_overlong_parent_is_found_and_split(db: Live) {
    // Without extras, with an open page, and with full ones.
    for (id, old) in [(1, 1..1), (4, 3..4), (5, 3..5)] {
        let books = healthy(&db).await;
        update(
            &books,
            id,
            doc! { "$set": { "buyers": (100..111_i64).collect::<Vec<_>>() } },
        )
        .await;
        found_and_mended(&books, of_parent(Kind::TooLarge, id, "with 11 items")).await;
        let stored = stored(&books).await.remove(&id).unwrap();
        assert_eq!(stored.parent, [100, 101, 102]);
        let expected: Vec<i64> = (100..111).chain(old).collect();
        assert_eq!(stored.all(), expected);
        reads_agree(&books, id, &stored).await;
    }
}

#[bucket_testkit::test]
async fn extras_without_a_flag_are_found_and_the_flag_is_set(db: Live) {
    for damage in [
        doc! { "$unset": { "has_extras": "" } },
        doc! { "$set": { "has_extras": false } },
        doc! { "$set": { "has_extras": Bson::Null } },
        doc! { "$set": { "has_extras": 1 } },
    ] {
        for id in [4, 5, 8] {
            let books = healthy(&db).await;
            let before = everything(&books).await;
            update(&books, id, damage.clone()).await;
            found_and_mended(&books, of_parent(Kind::NoFlag, id, "")).await;
            let (parents, extras) = everything(&books).await;
            assert_eq!(extras, before.1);
            let flag = |parent: &Document| {
                (
                    parent.get("_id").cloned(),
                    parent.get("has_extras").cloned(),
                )
            };
            let flags = |parents: &[Document]| parents.iter().map(flag).collect::<Vec<_>>();
            assert_eq!(flags(&parents), flags(&before.0));
        }
    }
}

#[bucket_testkit::test]
async fn a_wrong_count_is_found_and_corrected(db: Live) {
    // An open page that looks empty or full, a full one that looks open or overfull.
    for (page, wrong, healed) in [
        ("4_0000000000", Bson::Int32(0), 1),
        ("4_0000000000", Bson::Int32(2), 1),
        ("7_0000000000", Bson::Int64(3), 2),
        ("5_0000000000", Bson::Int32(1), 2),
        ("7_0000000001", Bson::Double(1.0), 2),
        ("5_0000000000", Bson::Null, 2),
        ("5_0000000000", Bson::String("2".into()), 2),
    ] {
        let books = healthy(&db).await;
        let set = doc! { "$set": { "count": wrong.clone() } };
        let extras = books.extras_collection();
        let updated = extras.update_one(doc! { "_id": page }, set).await.unwrap();
        assert_eq!(updated.modified_count, 1);
        found_and_mended(
            &books,
            expected(
                Kind::WrongCount,
                [page],
                &page[..1],
                format!("holds {healed} item"),
            ),
        )
        .await;
        let found = extras
            .find_one(doc! { "_id": page })
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            crate::support::database::number(found.get("count")),
            healed,
            "{wrong}: {found}"
        );
        // Later values go after this page.
        let id = i64::from(page.as_bytes()[0] - b'0');
        let before = items(&books, id).await;
        books.push_many(&id, 50..55).await.unwrap();
        let expected: Vec<i64> = before.into_iter().chain(50..55).collect();
        assert_eq!(items(&books, id).await, expected);
        assert_eq!(verify(&books).await.unwrap(), []);
    }
}

#[bucket_testkit::test]
async fn orphans_are_found_and_deleted(db: Live) {
    let books = healthy(&db).await;
    books
        .collection()
        .delete_one(doc! { "_id": 7 })
        .await
        .unwrap();
    found_and_mended(
        &books,
        of_parent(Kind::NoParent, 7, "has 4 items in 2 extras documents"),
    )
    .await;
    books
        .collection()
        .delete_one(doc! { "_id": 9 })
        .await
        .unwrap();
    found_and_mended(
        &books,
        of_parent(Kind::NoParent, 9, "has 6 items in 3 extras documents"),
    )
    .await;
    assert!(survey(&books).await.orphans.is_empty());
}

//! `repair` fixes all that it can, and reports what it cannot.

use bucket_runtime::{
    BucketProblem, Outlier, OutlierProblem,
    mongodb::bson::{Bson, Document, doc, oid::ObjectId},
};

use crate::{
    outlier::{
        support::{items, repair, verify},
        verify::damage::{Book3, healthy, update},
    },
    support::database::Live,
};

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
    let parent = Bson::Int64;
    let expected = [
        OutlierProblem::TooLarge {
            parent: parent(2),
            items: 50,
        },
        OutlierProblem::TooLarge {
            parent: parent(6),
            items: 11,
        },
        OutlierProblem::NoFlag { parent: parent(4) },
        OutlierProblem::NoFlag { parent: parent(6) },
        OutlierProblem::NoParent {
            parent: parent(7),
            documents: 2,
            items: 4,
        },
        OutlierProblem::Extras(BucketProblem::WrongCount {
            bucket: "5_0000000000".into(),
            key: "5".to_owned(),
            items: 2,
        }),
    ];
    let sorted = |mut problems: Vec<OutlierProblem>| {
        problems.sort_by_key(ToString::to_string);
        problems
    };
    assert_eq!(
        sorted(verify(&books).await.unwrap()),
        sorted(expected.to_vec())
    );
    let of = (books.collection().clone(), extras.clone());
    let result = Book3::repair_in(of.0, of.1).await.unwrap();
    let kinds = [("NoFlag", 2), ("TooLarge", 2), ("WrongCount", 1)];
    assert_eq!(result.repaired, kinds.into());
    assert_eq!(result.left, expected[4..5]);
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

/// A parent with an id of another type is left alone.
#[bucket_testkit::test]
async fn a_parent_with_an_id_of_another_type_is_listed(db: Live) {
    let books = healthy(&db).await;
    let id = ObjectId::new();
    let foreign = doc! { "_id": id, "title": "", "buyers": [0, 1, 2, 3] };
    books
        .collection()
        .insert_one(foreign.clone())
        .await
        .unwrap();
    let problems = verify(&books).await.unwrap();
    let text = problems[0].to_string();
    let says = format!("O1: parent ObjectId(\"{id}\") cannot be read: ");
    assert!(
        problems.len() == 1 && text.starts_with(&says),
        "{problems:?}"
    );
    assert_eq!(repair(&books).await.unwrap(), problems);
    let found = books
        .collection()
        .find_one(doc! { "_id": id })
        .await
        .unwrap();
    assert_eq!(found, Some(foreign));
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
    let problems = Book3::verify(&db).await.unwrap().problems;
    let is_foreign = OutlierProblem::Extras(BucketProblem::ForeignId {
        bucket: "x".into(),
        key: "1".to_owned(),
    });
    assert_eq!(problems.len(), 4, "{problems:?}");
    // The newest of the two, and before a third one.
    let before_last = BucketProblem::OpenBeforeLast {
        bucket: "1_0000000001".into(),
        key: "1".to_owned(),
    };
    assert!(
        problems.contains(&OutlierProblem::Extras(before_last)),
        "{problems:?}"
    );
    assert!(problems.contains(&is_foreign), "{problems:?}");
    let sealed = BucketProblem::WrongSeal {
        bucket: "1_0000000002".into(),
        key: "1".to_owned(),
    };
    assert!(
        problems.contains(&OutlierProblem::Extras(sealed)),
        "{problems:?}"
    );
    let is_open = |problem: &OutlierProblem| {
        matches!(problem, OutlierProblem::Extras(BucketProblem::SeveralOpen { buckets, .. })
            if *buckets == ["1_0000000000".into(), "1_0000000001".into()])
    };
    assert!(problems.iter().any(is_open), "{problems:?}");

    assert_eq!(Book3::repair(&db).await.unwrap().left, []);
    let books = Book3::outliers(&db).await.unwrap();
    // What the foreign document held comes before the others.
    assert_eq!(items(&books, 1).await, [0, 1, 2, 6, 7, 3, 4, 5]);
}

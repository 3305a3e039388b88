//! `repair` mends all that it can, and says what it cannot.

use bucket_runtime::{
    OutlierProblem,
    mongodb::bson::{Bson, doc, oid::ObjectId},
};

use crate::outlier::{
    support::items,
    verify::{healthy, update},
};

#[tokio::test]
async fn outlier_all_kinds_of_damage_at_once_are_mended_at_once() {
    let books = healthy("outlier_all_damage").await;
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
    // Too long and without its flag.
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
        },
        OutlierProblem::WrongCount {
            extras: "5_0000000000".into(),
        },
    ];
    let sorted = |mut problems: Vec<OutlierProblem>| {
        problems.sort_by_key(ToString::to_string);
        problems
    };
    assert_eq!(
        sorted(books.verify().await.unwrap()),
        sorted(expected.to_vec())
    );
    assert_eq!(books.repair().await.unwrap(), []);
    assert_eq!(books.verify().await.unwrap(), []);
    assert_eq!(items(&books, 2).await, (0..50).collect::<Vec<_>>());
    assert_eq!(items(&books, 4).await, (0..4).collect::<Vec<_>>());
    assert_eq!(items(&books, 5).await, (0..5).collect::<Vec<_>>());
    assert_eq!(
        items(&books, 6).await,
        (20..31).chain(3..6).collect::<Vec<_>>()
    );
}

/// A repair that is not sure to mend must not make it worse: an id of another type is left alone.
#[tokio::test]
async fn outlier_a_parent_with_an_id_of_another_type_is_listed() {
    let books = healthy("outlier_foreign_id").await;
    let id = ObjectId::new();
    let foreign = doc! { "_id": id, "title": "", "buyers": [0, 1, 2, 3] };
    books
        .collection()
        .insert_one(foreign.clone())
        .await
        .unwrap();
    let problem = OutlierProblem::TooLarge {
        parent: id.into(),
        items: 4,
    };
    assert_eq!(books.verify().await.unwrap(), [problem]);
    let error = books.repair().await.unwrap_err();
    assert!(
        error.is_deserialize() && error.to_string().contains(&id.to_hex()),
        "{error}"
    );
    let found = books
        .collection()
        .find_one(doc! { "_id": id })
        .await
        .unwrap();
    assert_eq!(found, Some(foreign));
}

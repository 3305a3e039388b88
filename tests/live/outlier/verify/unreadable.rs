//! O1: what the struct cannot read is a problem of its own each, hides no other, and is never lost.

use bucket_ops::{OutlierOps, Problem, ProblemKind as Kind};
use bucket_runtime::{
    Outlier,
    mongodb::bson::{Bson, Document, doc, oid::ObjectId},
};
use serde::{Deserialize, Serialize};

use crate::support::database::{Live, documents};
use crate::support::problems::{assert_found, expected};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "sales",
    reference = "book_id",
    threshold = 3,
    extras_capacity = 2
)]
struct Book {
    _id: i64,
    title: String,
    #[outlier(items)]
    buyers: Vec<Buyer>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Buyer {
    n: i32,
    name: String,
}

/// A struct that may leave its array out, and counts its items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "tags",
    reference = "tag_id",
    threshold = 3,
    extras_capacity = 2
)]
struct Tag {
    _id: String,
    #[outlier(items)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    uses: Vec<i64>,
    #[outlier(total)]
    all: u64,
}

fn buyer(n: i32) -> Buyer {
    Buyer {
        n,
        name: "Alice".to_owned(),
    }
}

fn unreadable(parent: impl Into<Bson>) -> (Bson, Kind, Option<u64>) {
    (parent.into(), Kind::UnreadableParent, None)
}

fn item(parent: impl Into<Bson>, place: u64) -> (Bson, Kind, Option<u64>) {
    (parent.into(), Kind::Unreadable, Some(place))
}

/// The document, the kind and the item's place of a problem.
fn facts(problem: &Problem) -> (Bson, Kind, Option<u64>) {
    let text = problem.to_string();
    let place = text
        .split_once("item ")
        .filter(|_| problem.kind == Kind::Unreadable);
    let place = place.and_then(|(_, place)| place.split_once(" (from 0)")?.0.parse().ok());
    (problem.ids[0].clone(), problem.kind, place)
}

fn sorted<T>(mut all: Vec<(Bson, T, Option<u64>)>) -> Vec<(Bson, T, Option<u64>)> {
    all.sort_by_key(|(id, _, place)| (id.to_string(), *place));
    all
}

/// Changes of a parent by hand, and the problems that follow.
type Damage = (Document, Vec<(Bson, Kind, Option<u64>)>);

fn damages() -> Vec<Damage> {
    let set = |name: &str, value: Bson| doc! { "$set": { name: value } };
    let mut next = 0_i64;
    let mut id = || {
        next += 1;
        next
    };
    vec![
        (set("buyers.1", 5.into()), vec![item(id(), 1)]),
        (set("buyers.0", Bson::Null), vec![item(id(), 0)]),
        (
            doc! { "$unset": { "buyers.2.name": 1 } },
            vec![item(id(), 2)],
        ),
        (set("buyers", vec![1, 2].into()), {
            let id = id();
            vec![item(id, 0), item(id, 1)]
        }),
        (doc! { "$unset": { "buyers": 1 } }, vec![unreadable(id())]),
        (set("buyers", Bson::Null), vec![unreadable(id())]),
        (set("buyers", "none".into()), vec![unreadable(id())]),
        (doc! { "$unset": { "title": 1 } }, vec![unreadable(id())]),
        (set("title", 7.into()), vec![unreadable(id())]),
        (
            doc! { "$set": { "buyers.1": 5 }, "$unset": { "title": 1 } },
            {
                let id = id();
                vec![item(id, 1), unreadable(id)]
            },
        ),
    ]
}

/// Foreign parents and extras documents, and the problems that they are.
async fn add_foreign(db: &Live) -> Vec<(Bson, Kind, Option<u64>)> {
    let id = ObjectId::from_bytes([1; 12]);
    let ids: [Bson; 2] = [id.into(), "4".into()];
    let parents = db.collection::<Document>("sales");
    for id in &ids {
        let foreign = doc! { "_id": id, "title": "", "buyers": [0, 1, 2, 3] };
        parents.insert_one(foreign).await.unwrap();
    }
    let buyers = vec![doc! { "n": 1, "name": "A" }, doc! { "n": 2 }];
    let flagged = doc! { "_id": 100_i64, "title": "", "buyers": [], "has_extras": true };
    parents.insert_one(flagged).await.unwrap();
    let extras = db.collection::<Document>(Book::SPEC.extras);
    extras
        .insert_many([
            doc! { "_id": "manual", "book_id": 100_i64, "buyers_extra": &buyers },
            doc! { "_id": "no array", "book_id": 100_i64 },
            doc! { "_id": "no key", "buyers_extra": &buyers },
            doc! { "_id": "other key", "book_id": id, "buyers_extra": &buyers },
            doc! { "_id": "100_0000000000", "book_id": 100_i64, "count": 2, "buyers_extra": &buyers },
        ])
        .await
        .unwrap();
    let of_extras = [
        ("manual", Kind::ForeignId, None),
        ("manual", Kind::Unreadable, Some(1)),
        ("no array", Kind::NoArray, None),
        ("no key", Kind::NoKey, None),
        ("other key", Kind::NoKey, None),
        ("100_0000000000", Kind::Unreadable, Some(1)),
    ];
    let of_extras = of_extras.map(|(id, kind, place)| (id.into(), kind, place));
    (ids.into_iter().map(unreadable)).chain(of_extras).collect()
}

#[bucket_testkit::test]
async fn each_unreadable_parent_and_item_is_listed_and_stays(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    let mut expected = Vec::new();
    let mut items = 0;
    for (id, (update, problems)) in (1..).zip(damages()) {
        let buyers = (0..3).map(buyer).collect();
        let title = "Dune".to_owned();
        let book = Book {
            _id: id,
            title,
            buyers,
        };
        books.insert(&book).await.unwrap();
        let changed = books.collection().update_one(doc! { "_id": id }, update);
        assert_eq!(changed.await.unwrap().modified_count, 1);
        let parent = books.collection().find_one(doc! { "_id": id });
        let parent = parent.await.unwrap().unwrap();
        items += parent.get_array("buyers").map_or(0, Vec::len);
        expected.extend(problems);
    }
    let healthy = Book {
        _id: 50,
        title: "Emma".to_owned(),
        buyers: (0..8).map(buyer).collect(),
    };
    books.insert(&healthy).await.unwrap();
    expected.extend(add_foreign(&db).await);

    let found = OutlierOps::<Book>::of(&db).verify().await.unwrap();
    assert_eq!((found.parents, found.extras), (10 + 1 + 3, 3 + 5));
    assert_eq!(found.items, (items + 8 + 2 * 4 + 4 * 2) as u64);
    let facts = found.problems.iter().map(facts).collect();
    assert_eq!(sorted(facts), sorted(expected), "{:#?}", found.problems);
    let of_object_id = format!(
        "O1: parent ObjectId(\"{}\") cannot be read: ",
        "01".repeat(12)
    );
    let mut texts = found.problems.iter().map(ToString::to_string);
    assert!(texts.any(|text| text.starts_with(&of_object_id)));
    let repairable = found.problems.iter().filter(|it| it.is_repairable());
    assert!(repairable.map(|it| it.kind).eq([Kind::ForeignId]));

    let before = (
        documents(books.collection()).await,
        documents(books.extras_collection()).await,
    );
    let repaired = OutlierOps::<Book>::of(&db)
        .repair()
        .delete_orphans(true)
        .await
        .unwrap();
    assert_eq!(repaired.repaired, [].into());
    // Another document of the same parent is in the way.
    let [refused] = &repaired.refused[..] else {
        panic!("{:?}", repaired.refused);
    };
    assert!(refused.contains("\"no array\""), "{refused}");
    let texts = |problems: &[Problem]| {
        let mut texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
        texts.sort();
        texts
    };
    assert_eq!(texts(&repaired.left), texts(&found.problems));
    let after = (
        documents(books.collection()).await,
        documents(books.extras_collection()).await,
    );
    assert_eq!(after, before);
}

/// A parent that is too large is split with the items that the struct cannot read.
#[bucket_testkit::test]
async fn unreadable_items_are_split_as_they_are(db: Live) {
    let parents = db.collection::<Document>("sales");
    let buyers: Vec<Bson> = (0..8)
        .map(|n| {
            if n % 3 == 1 {
                n.into()
            } else {
                doc! { "n": n, "name": "A" }.into()
            }
        })
        .collect();
    let book = doc! { "_id": 1_i64, "buyers": &buyers };
    parents.insert_one(book).await.unwrap();

    let repaired = OutlierOps::<Book>::of(&db).repair().await.unwrap();
    assert_eq!(repaired.repaired, [(Kind::TooLarge, 1)].into());
    let kinds: Vec<_> = repaired.left.iter().map(|problem| problem.kind).collect();
    let of_parent = [Kind::Unreadable, Kind::UnreadableParent];
    assert_eq!(kinds, [of_parent, [Kind::Unreadable; 2]].concat());
    let stored = documents(&parents).await;
    let mut all = stored[0].get_array("buyers").unwrap().clone();
    for page in documents(&db.collection::<Document>(Book::SPEC.extras)).await {
        all.extend(page.get_array("buyers_extra").unwrap().iter().cloned());
    }
    assert_eq!(all, buyers);
    assert_eq!(OutlierOps::<Book>::of(&db).verify().await.unwrap().items, 8);
}

/// An array that the struct may leave out is no problem, and a missing total is only a wrong one.
#[bucket_testkit::test]
async fn a_parent_that_the_struct_reads_is_no_problem(db: Live) {
    let tags = Tag::outliers(&db).await.unwrap();
    for (id, uses) in [("a", 0), ("b", 2), ("c", 5)] {
        let tag = Tag {
            _id: id.to_owned(),
            uses: (0..uses).collect(),
            all: 0,
        };
        tags.insert(&tag).await.unwrap();
    }
    let empty = tags.collection().find_one(doc! { "_id": "a" });
    assert!(!empty.await.unwrap().unwrap().contains_key("uses"));
    let found = OutlierOps::<Tag>::of(&db).verify().await.unwrap();
    assert_eq!((found.parents, found.extras, found.items), (3, 1, 7));
    assert_eq!(found.problems, []);

    let foreign = doc! { "_id": 5, "uses": [1], "all": 9 };
    tags.collection().insert_one(foreign).await.unwrap();
    let changed = tags
        .collection()
        .update_many(doc! {}, doc! { "$unset": { "all": 1 } });
    assert_eq!(changed.await.unwrap().modified_count, 4);
    let mut found = OutlierOps::<Tag>::of(&db).verify().await.unwrap().problems;
    // The shards of a cluster answer in any order.
    found[1..].sort_by_key(|problem| problem.ids[0].to_string());
    let wrong = |id, items| {
        let text = format!("is null, but it has {items} items");
        expected(Kind::WrongTotal, [id], id, text)
    };
    let foreign = [found[0].clone()];
    let wrong = [wrong("a", 0), wrong("b", 2), wrong("c", 5)];
    assert_eq!(foreign[0].kind, Kind::UnreadableParent);
    assert_found(&found[1..], &wrong);
    let repaired = OutlierOps::<Tag>::of(&db).repair().await.unwrap();
    assert_eq!(repaired.repaired, [(Kind::WrongTotal, 3)].into());
    assert_eq!(repaired.left, foreign);
}

/// Extras of a vanished parent hold items, so they are deleted only when somebody says so.
#[bucket_testkit::test]
async fn extras_without_a_parent_stay_until_they_are_to_be_deleted(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    let book = |_id| Book {
        _id,
        title: "Dune".to_owned(),
        buyers: (0..8).map(buyer).collect(),
    };
    for id in [1, 2] {
        books.insert(&book(id)).await.unwrap();
    }
    let gone = books.collection().delete_one(doc! { "_id": 1_i64 });
    assert_eq!(gone.await.unwrap().deleted_count, 1);
    let text = "has 5 items in 3 extras documents";
    let orphans = expected(Kind::NoParent, [1_i64], "1", text);
    let before = documents(books.extras_collection()).await;
    let repaired = OutlierOps::<Book>::of(&db).repair().await.unwrap();
    assert_eq!(repaired.repaired, [].into());
    assert_found(&repaired.left, &[orphans]);
    assert_eq!(documents(books.extras_collection()).await, before);
    assert!(repaired.left[0].remedy().contains("`delete_orphans`"));

    // A parent that is inserted again gets its items back.
    let parent = doc! { "_id": 1_i64, "title": "", "buyers": [] };
    books.collection().insert_one(parent.clone()).await.unwrap();
    let repaired = OutlierOps::<Book>::of(&db).repair().await.unwrap();
    assert_eq!(
        (repaired.repaired, repaired.left),
        ([(Kind::NoFlag, 1)].into(), vec![])
    );
    let all = books.get_all(&1).await.unwrap().unwrap();
    assert_eq!(all.buyers, book(1).buyers[3..]);

    let gone = books.collection().delete_one(doc! { "_id": 1_i64 });
    assert_eq!(gone.await.unwrap().deleted_count, 1);
    let repaired = OutlierOps::<Book>::of(&db)
        .repair()
        .delete_orphans(true)
        .await
        .unwrap();
    assert_eq!(repaired.deleted_items, 5);
    assert_eq!(
        (repaired.repaired, repaired.left),
        ([(Kind::NoParent, 1)].into(), vec![])
    );
    assert_eq!(books.get_all(&2).await.unwrap(), Some(book(2)));
    assert_eq!(OutlierOps::<Book>::of(&db).verify().await.unwrap().items, 8);
}

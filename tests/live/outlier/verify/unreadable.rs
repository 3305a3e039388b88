//! O1: what the struct cannot read is a problem of its own each, hides no other, and is never lost.

use bucket_ops::{OutlierOps, Problem, ProblemKind as Kind};
use bucket_runtime::{
    Outlier,
    mongodb::bson::{Bson, Document, doc, oid::ObjectId},
};
use serde::{Deserialize, Serialize};

use crate::{
    outlier::unreadable::{Book, book},
    support::{
        database::{Live, documents},
        outliers::{repaired, verify},
        problems::{assert_found, expected},
    },
};

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

fn unreadable(parent: impl Into<Bson>) -> (Bson, Kind, Option<u64>) {
    (parent.into(), Kind::UnreadableParent, None)
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

/// The kind of a problem, and the item's place.
type KindAndPlace = (Kind, Option<u64>);

/// Changes of a parent by hand, and the kinds and places of the problems that follow.
fn damages() -> Vec<(Document, Vec<KindAndPlace>)> {
    let set = |name: &str, value: Bson| doc! { "$set": { name: value } };
    let unset = |name: &str| doc! { "$unset": { name: 1 } };
    let item = |place| (Kind::Unreadable, Some(place));
    let parent = (Kind::UnreadableParent, None);
    let mut both = set("buyers.1", 5.into());
    both.extend(unset("title"));
    vec![
        (set("buyers.1", 5.into()), vec![item(1)]),
        (set("buyers.0", Bson::Null), vec![item(0)]),
        (unset("buyers.2.name"), vec![item(2)]),
        (set("buyers", vec![1, 2].into()), vec![item(0), item(1)]),
        (unset("buyers"), vec![parent]),
        (set("buyers", Bson::Null), vec![parent]),
        (set("buyers", "none".into()), vec![parent]),
        (unset("title"), vec![parent]),
        (set("title", 7.into()), vec![parent]),
        (both, vec![item(1), parent]),
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
        books.insert(&book(id, 3)).await.unwrap();
        let changed = books.collection().update_one(doc! { "_id": id }, update);
        assert_eq!(changed.await.unwrap().modified_count, 1);
        let parent = books.collection().find_one(doc! { "_id": id });
        let parent = parent.await.unwrap().unwrap();
        items += parent.get_array("buyers").map_or(0, Vec::len);
        let problems = problems.into_iter();
        expected.extend(problems.map(|(kind, place)| (Bson::from(id), kind, place)));
    }
    books.insert(&book(50, 8)).await.unwrap();
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

    let both = async || {
        let parents = documents(books.collection()).await;
        (parents, documents(books.extras_collection()).await)
    };
    let before = both().await;
    let repair = OutlierOps::<Book>::of(&db).repair().delete_orphans(true);
    let repaired = repair.await.unwrap();
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
    assert_eq!(both().await, before);
}

/// A parent that is too large is split with the items that the struct cannot read.
#[bucket_testkit::test]
async fn unreadable_items_are_split_as_they_are(db: Live) {
    let parents = db.collection::<Document>("sales");
    let buyer = |n: i32| match n % 3 {
        1 => Bson::from(n),
        _ => doc! { "n": n, "name": "A" }.into(),
    };
    let buyers = Vec::from_iter((0..8).map(buyer));
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
    let mut found = verify(&tags).await.unwrap();
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
    let done = repaired(&tags).await.unwrap();
    assert_eq!(done.repaired, [(Kind::WrongTotal, 3)].into());
    assert_eq!(done.left, foreign);
}

/// Extras of a vanished parent hold items, so they are deleted only when somebody says so.
#[bucket_testkit::test]
async fn extras_without_a_parent_stay_until_they_are_to_be_deleted(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    for id in [1, 2] {
        books.insert(&book(id, 8)).await.unwrap();
    }
    let gone = books.collection().delete_one(doc! { "_id": 1_i64 });
    assert_eq!(gone.await.unwrap().deleted_count, 1);
    let text = "has 5 items in 3 extras documents";
    let orphans = expected(Kind::NoParent, [1_i64], "1", text);
    let before = documents(books.extras_collection()).await;
    let left = repaired(&books).await.unwrap();
    assert_eq!(left.repaired, [].into());
    assert_found(&left.left, &[orphans]);
    assert_eq!(documents(books.extras_collection()).await, before);
    assert!(left.left[0].remedy().contains("`delete_orphans`"));

    // A parent that is inserted again gets its items back.
    let parent = doc! { "_id": 1_i64, "title": "", "buyers": [] };
    books.collection().insert_one(parent.clone()).await.unwrap();
    let mended = repaired(&books).await.unwrap();
    assert_eq!(mended.left, []);
    assert_eq!(mended.repaired, [(Kind::NoFlag, 1)].into());
    let all = books.get_all(&1).await.unwrap().unwrap();
    assert_eq!(all.buyers, book(1, 8).buyers[3..]);

    let gone = books.collection().delete_one(doc! { "_id": 1_i64 });
    assert_eq!(gone.await.unwrap().deleted_count, 1);
    let deletion = OutlierOps::<Book>::of(&db).repair().delete_orphans(true);
    let done = deletion.await.unwrap();
    assert_eq!((done.deleted_items, done.left), (5, vec![]));
    assert_eq!(done.repaired, [(Kind::NoParent, 1)].into());
    assert_eq!(books.get_all(&2).await.unwrap(), Some(book(2, 8)));
    assert_eq!(OutlierOps::<Book>::of(&db).verify().await.unwrap().items, 8);
}

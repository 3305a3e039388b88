//! Which items a parent may hold, and how its struct may be written.

use std::fmt::Debug;

use bucket_runtime::{
    Outlier, Outliers,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Document, doc, oid::ObjectId},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    outlier::support::{fresh, remove, verify},
    support::database::{Live, documents},
};

/// A parent with items of any type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "lists",
    extras = "more",
    reference = "list",
    threshold = IN_PARENT,
    extras_capacity = IN_EXTRAS
)]
pub(crate) struct List<I> {
    #[serde(rename = "_id")]
    pub(crate) id: i64,
    #[outlier(items)]
    pub(crate) all: Vec<I>,
}

const IN_PARENT: usize = 3;
const IN_EXTRAS: u8 = 2;

pub(crate) trait Value:
    Serialize + DeserializeOwned + Debug + Clone + PartialEq + Send + Sync + Unpin + 'static
{
}
impl<I: Serialize + DeserializeOwned + Debug + Clone + PartialEq + Send + Sync + Unpin + 'static>
    Value for I
{
}

async fn read<I: Value>(lists: &Outliers<List<I>>) -> Vec<I> {
    lists.items(&7).await.unwrap().try_collect().await.unwrap()
}

/// Inserts the items, pushes them one by one, then all at once, and removes each again.
pub(crate) async fn round_trip<I: Value>(db: &Database, items: &[I]) {
    let lists = fresh::<List<I>>(db).await;
    let list = |all: &[I]| List {
        id: 7,
        all: all.to_vec(),
    };
    lists.insert(&list(items)).await.unwrap();
    for item in items {
        lists.push(&7, item.clone()).await.unwrap();
    }
    lists.push_many(&7, items.to_vec()).await.unwrap();
    let mut model = [items, items, items].concat();
    assert_eq!(read(&lists).await, model);
    assert_eq!(lists.get_all(&7).await.unwrap(), Some(list(&model)));
    let parent = lists.get(&7).await.unwrap().unwrap();
    assert_eq!(parent.document.all, model[..model.len().min(3)]);
    assert_eq!(verify(&lists).await.unwrap(), []);
    for item in items {
        let removed = remove(&lists, &7, item.clone()).await;
        let removed = removed.unwrap_or_else(|error| panic!("remove({item:?}): {error}"));
        assert_eq!(removed, model.contains(item), "remove({item:?})");
        model.retain(|other| other != item);
        assert_eq!(read(&lists).await, model, "after remove({item:?})");
        assert!(
            !remove(&lists, &7, item.clone()).await.unwrap(),
            "remove({item:?}) again"
        );
        assert_eq!(verify(&lists).await.unwrap(), []);
    }
    assert_eq!(model, []);
}

#[bucket_testkit::test]
async fn items_may_be_of_any_type(db: Live) {
    round_trip(&db, &[0, -1, i32::MAX, i32::MIN, 7]).await;
    round_trip(&db, &[0.0, -1.5, f64::INFINITY, f64::MIN_POSITIVE, 1e300]).await;
    round_trip(&db, &[true, false]).await;
    round_trip(&db, &[1, 2, 3, 4, 5].map(|n| ObjectId::from_bytes([n; 12]))).await;
    round_trip(
        &db,
        &[0, -1, 1, 1_698_335_223_434].map(DateTime::from_millis),
    )
    .await;
    let texts = [
        "",
        "$title",
        "$$ROOT",
        "$",
        "a.b",
        "0",
        "null",
        "^a",
        ".*",
        "a\0b",
        "👩‍👩‍👧",
    ];
    round_trip(&db, &texts.map(str::to_owned)).await;
    round_trip(&db, &[None, Some(0_i64), Some(1), Some(2)]).await;
    round_trip(&db, &[vec![], vec![1_i64], vec![1, 2], vec![2, 1], vec![3]]).await;
    let nested = [
        vec![],
        vec![vec![]],
        vec![vec![1_i64]],
        vec![vec![1], vec![2]],
    ];
    round_trip(&db, &nested).await;
}

/// A struct with the flag as one of its fields, and its own names for everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[serde(rename_all = "camelCase")]
#[outlier(
    collection = "threads",
    extras = "older-posts",
    reference = "thread",
    threshold = 2,
    extras_capacity = 2,
    extra_items = "posts"
)]
struct Thread {
    #[serde(rename = "_id")]
    thread_id: String,
    #[serde(rename = "tops")]
    #[outlier(items)]
    top_posts: Vec<String>,
    #[serde(default)]
    #[outlier(flag)]
    is_long: bool,
    #[serde(default)]
    closed_at: Option<DateTime>,
}

#[bucket_testkit::test]
async fn the_flag_may_be_a_field_and_all_names_may_be_chosen(db: Live) {
    let threads = Thread::outliers(&db).await.unwrap();
    let thread = |posts: usize, is_long| Thread {
        thread_id: "a".into(),
        top_posts: "pqrst".chars().take(posts).map(String::from).collect(),
        is_long,
        closed_at: None,
    };
    threads.insert(&thread(1, false)).await.unwrap();
    threads.push("a", "q").await.unwrap();
    let found = threads.get("a").await.unwrap().unwrap();
    assert_eq!(
        (found.document, found.has_extras),
        (thread(2, false), false)
    );
    threads.push_many("a", ["r", "s", "t"]).await.unwrap();
    let found = threads.get("a").await.unwrap().unwrap();
    assert_eq!((found.document, found.has_extras), (thread(2, true), true));
    assert_eq!(threads.get_all("a").await.unwrap(), Some(thread(5, true)));
    let stored = documents(threads.collection()).await;
    let expected = doc! { "_id": "a", "tops": ["p", "q"], "isLong": true, "closedAt": Bson::Null };
    assert_eq!(stored, [expected]);
    let extras = documents(&db.collection::<Document>("older-posts")).await;
    assert_eq!(extras.len(), 2);
    assert_eq!(extras[1].get_array("posts").unwrap(), &[Bson::from("t")]);
    assert_eq!(extras[1].get_str("thread").unwrap(), "a");
    // A large parent, inserted with the field as false.
    threads.delete("a").await.unwrap();
    threads.insert(&thread(5, false)).await.unwrap();
    assert_eq!(threads.get_all("a").await.unwrap(), Some(thread(5, true)));
    assert_eq!(verify(&threads).await.unwrap(), []);
}

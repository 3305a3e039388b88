//! Buckets as flat data: the stages, and a view of the driver that they define, as in the guide.

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Collection, Database,
        bson::{Bson, DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;

use crate::{
    read::query::{
        cases::{Event, Numbered, Test, Windows},
        differential::Twice,
        random::{Change, Query, changes, queries},
    },
    support::{
        database::{Live, Recorded, explain, is_cluster},
        plans::examined_by,
        random::for_any,
        scale::scaled,
    },
};

/// A view shows what the flat collection holds, whatever the query.
async fn shows_the_same<T: Event>(db: &Database, changes: &[Change], queries: &[Query]) {
    let twice = Twice::<T>::new(db, changes).await;
    let view = view_of(db, &twice.buckets).await;
    for query in queries {
        let shown = sorted(&view, T::filter(&query.test).into()).await;
        let flat = sorted(&twice.flat, query.test.by_hand()).await;
        assert_eq!(shown, flat, "{query:?}");
    }
}

/// A new view of the flat items.
async fn view_of<T: Bucket>(db: &Database, buckets: &Buckets<T>) -> Collection<Document> {
    let view = db.collection("flat_view");
    view.drop().await.unwrap();
    let created = db.create_collection(view.name());
    let created = created.view_on(buckets.collection().name().to_owned());
    created.pipeline(T::unwind()).await.unwrap();
    view
}

/// The documents that match, without their ids, as text: NaN does not equal itself.
async fn sorted(collection: &Collection<Document>, filter: Document) -> Vec<String> {
    let found = collection.find(filter).projection(doc! { "_id": 0 });
    let found = found.sort(doc! { "n": 1 }).await.unwrap();
    let found: Vec<_> = found.try_collect().await.unwrap();
    found.iter().map(|found| format!("{found:?}")).collect()
}

#[bucket_testkit::test(multi_thread)]
async fn any_query_on_the_view_gives_what_it_gives_on_a_flat_collection(db: Live) {
    let states = (changes(), queries(40));
    for_any(scaled(9), states, async |(changes, queries)| {
        shows_the_same::<Numbered>(&db, &changes, &queries).await;
        shows_the_same::<Windows>(&db, &changes, &queries).await;
    });
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "tagged", id = "{sensor}_{#}", capacity = 3)]
struct Tagged {
    sensor: i64,
    value: f64,
    #[serde(flatten)]
    rest: BTreeMap<String, Bson>,
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "plain",
    id = "{sensor}_{#}",
    capacity = 3,
    items = "history"
)]
struct Own {
    #[serde(alias = "device")]
    sensor: i64,
    value: f64,
    count: i32,
    history: String,
    _id: i32,
}

async fn all(collection: &Collection<Document>) -> Vec<Document> {
    let found = collection.find(doc! {}).await.unwrap();
    found.try_collect().await.unwrap()
}

/// Fields of items may have the names of bucket fields, even `_id`. A key that an older document holds
/// under a former name is shown under the present name.
#[bucket_testkit::test]
async fn names_of_buckets_and_of_items_do_not_meet(db: Live) {
    let buckets = Own::buckets(&db).await.unwrap();
    for _id in 0..4 {
        let item = Own {
            sensor: 1,
            value: 0.5,
            count: 10,
            history: "h".to_owned(),
            _id,
        };
        buckets.append(&item).await.unwrap();
    }
    let element = doc! { "value": 1.5, "count": 3, "history": "old", "_id": 7 };
    let old = doc! { "_id": "2_0000000000", "device": 2, "count": 1, "history": [&element] };
    buckets.collection().insert_one(old).await.unwrap();
    let item =
        |n: i32| doc! { "sensor": 1_i64, "value": 0.5, "count": 10, "history": "h", "_id": n };
    let mut expected = Vec::from_iter((0..4).map(item));
    expected.push(element);
    expected[4].insert("sensor", 2);
    // Documents are equal in whatever order their fields are: the server puts `_id` first.
    assert_eq!(all(&view_of(&db, &buckets).await).await, expected);
}

/// A flattened map may hold unexpected names, and even those of the key.
#[bucket_testkit::test]
async fn flattened_fields_are_shown_and_the_key_counts(db: Live) {
    let buckets = Tagged::buckets(&db).await.unwrap();
    // Another program's: this library refuses the name.
    let element = doc! { "value": 0.5, "sensor": 99, "color": "red" };
    let bucket = doc! { "_id": "1_0000000000", "sensor": 1_i64, "count": 1, "items": [element] };
    buckets.collection().insert_one(bucket).await.unwrap();
    let expected = doc! { "sensor": 1_i64, "value": 0.5, "color": "red" };
    assert_eq!(all(&view_of(&db, &buckets).await).await, [expected]);
    let item = Tagged {
        sensor: 1,
        value: 0.5,
        rest: doc! { "sensor": 99, "color": "red" }.into_iter().collect(),
    };
    let read = buckets.all_items().filter(Tagged::FIELDS.value.gt(0.0));
    let read: Vec<_> = read.await.unwrap().try_collect().await.unwrap();
    assert_eq!(read, [item]);
}

/// A condition on the key is applied before the stages that unwind the buckets.
#[bucket_testkit::test]
async fn an_index_on_the_key_answers_a_query_on_the_view(Recorded(db, record): Recorded) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let buckets = Numbered::buckets(&db).await.unwrap();
    let bucket = |user: i64| {
        let item = doc! { "at": DateTime::from_millis(0), "n": 1, "label": "", "tags": [] };
        let id = format!("a/{user}_0000000000");
        doc! { "_id": id, "region": "a", "userId": user, "count": 1, "history": [item] }
    };
    let all = (0..100).map(bucket);
    buckets.collection().insert_many(all).await.unwrap();
    let index = doc! { "key": { "userId": 1 }, "name": "mine" };
    let index = doc! { "createIndexes": "events", "indexes": [index] };
    db.run_command(index).await.unwrap();
    let flat = view_of(&db, &buckets).await;
    record.take();
    let filter = Numbered::filter(&Test::User("=", 42));
    assert!(flat.find_one(filter.into()).await.unwrap().is_some());
    let explained = explain(&db, record.take().remove(0)).await;
    assert_eq!(examined_by(&explained).documents, 1);
}

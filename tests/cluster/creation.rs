//! A call shards a collection, before or after it is filled, and may be repeated.

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket, Outlier,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;

use crate::support::{
    Book, Timed, Windowed, cluster, database, documents_on_shards, sharded, stored, timed, windowed,
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "unique", id = "{k}_{at/1h}", capacity = 10)]
struct Unique {
    k: i64,
    at: DateTime,
    #[bucket(unique)]
    n: i64,
}

/// The fields of a collection's shard key.
async fn shard_key(db: &Database, name: &str) -> String {
    let config = db.client().database("config");
    let collections = config.collection::<Document>("collections");
    let id = format!("{}.{name}", db.name());
    let found = collections.find_one(doc! { "_id": id }).await.unwrap();
    found.unwrap().get_document("key").unwrap().to_string()
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn a_new_collection_is_sharded_as_asked_for_and_again_without_harm() {
    let db = database("created").await;
    for _ in 0..2 {
        Timed::create_collection(&db).sharded().await.unwrap();
        Timed::buckets(&db).await.unwrap();
    }
    let key = Timed::shard_key();
    assert_eq!(shard_key(&db, "timed").await, key.to_string());
    for _ in 0..2 {
        let created = Windowed::create_collection(&db).sharded_by_window();
        created.await.unwrap();
        Windowed::buckets(&db).await.unwrap();
    }
    let key = doc! { "k": 1, "window": 1 };
    assert_eq!(shard_key(&db, "windows").await, key.to_string());
    for _ in 0..2 {
        let created = Book::create_collections(&db).sharded_hashed();
        created.await.unwrap();
        Book::outliers(&db).await.unwrap();
    }
    let hashed = |name: &str| doc! { name: "hashed" }.to_string();
    assert_eq!(shard_key(&db, "books").await, hashed("_id"));
    assert_eq!(shard_key(&db, "extra_books").await, hashed("book_id"));
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn a_filled_collection_is_sharded_and_holds_what_it_held() {
    let db = database("filled").await;
    let trades = Timed::buckets(&db).await.unwrap();
    let items = || (0..300).map(|n| timed(n % 20, n));
    trades.append_many(items()).await.unwrap();
    Timed::create_collection(&db).sharded().await.unwrap();
    // An open handle still works.
    trades.append(&timed(3, 300)).await.unwrap();
    let trades = Timed::buckets(&db).await.unwrap();
    trades.append(&timed(3, 301)).await.unwrap();
    assert_eq!(stored(&db, "timed", "items").await, Vec::from_iter(0..302));
    let of_key: Vec<_> = trades.items(&3).await.unwrap().try_collect().await.unwrap();
    assert_eq!(of_key.len(), 17);
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn a_collection_that_is_sharded_otherwise_is_left_and_named() {
    let (db, _) = sharded::<Timed>("otherwise").await;
    let error = Timed::create_collection(&db).sharded().await.unwrap_err();
    let is_conflict = error.is_shard_key_conflict() && !error.is_maybe_stored();
    assert!(
        is_conflict && error.to_string().contains("hashed"),
        "{error}"
    );
}

/// The server would have to look for a key's unique value on all shards with windows of the key.
#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn windows_are_no_shard_key_where_they_cannot_be() {
    let db = database("no_windows").await;
    let created = Timed::create_collection(&db).sharded_by_window().await;
    let error = created.unwrap_err();
    assert!(error.is_shard_key_conflict(), "{error}");
    let created = Unique::create_collection(&db).sharded_by_window().await;
    let error = created.unwrap_err();
    let is_of_unique = error.to_string().contains("unique");
    assert!(error.is_shard_key_conflict() && is_of_unique, "{error}");
    let book = Book::create_collections(&db).sharded_by_window().await;
    assert!(book.unwrap_err().is_shard_key_conflict());
    assert_eq!(
        db.list_collection_names().await.unwrap(),
        Vec::<String>::new()
    );
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn windows_of_a_key_lie_on_several_shards() {
    let db = database("hot_key").await;
    let created = Windowed::create_collection(&db).sharded_by_window();
    created.await.unwrap();
    let readings = Windowed::buckets(&db).await.unwrap();
    let items = (0..400).map(|n| windowed(7, n));
    readings.append_many(items).await.unwrap();
    // The middle window begins its own chunk, which moves to the other shard.
    let admin = db.client().database("admin");
    let middle = doc! { "k": 7_i64, "window": windowed(7, 200).at };
    let namespace = format!("{}.windows", db.name());
    let split = doc! { "split": &namespace, "middle": &middle };
    admin.run_command(split).await.unwrap();
    for shard in cluster().await.shards() {
        // One of the two shards holds it already.
        let to = doc! { "moveChunk": &namespace, "find": &middle, "to": shard.name() };
        admin.run_command(to).await.unwrap();
        let here = documents_on_shards(&db, "windows").await;
        if here.iter().all(|count| *count > 0) {
            break;
        }
    }
    let here = documents_on_shards(&db, "windows").await;
    assert!(here.iter().all(|count| *count > 0), "{here:?}");
    for n in 400..440 {
        readings.append(&windowed(7, n)).await.unwrap();
        readings.append(&windowed(7, n - 400)).await.unwrap();
    }
    let items = readings.items(&7).await.unwrap();
    let items: Vec<_> = items.try_collect().await.unwrap();
    assert_eq!(items.len(), 480);
    assert!(items.is_sorted_by_key(|item| item.at.timestamp_millis() / 3_600_000));
    let sum = readings.rollup(&7).await.unwrap();
    let expected: i64 = (0..440).chain(0..40).sum();
    assert_eq!(sum.n.sum(), i128::from(expected));
    let verified = Ops::<Windowed>::of(&db).verify().await.unwrap();
    assert_eq!(verified.problems, []);
}

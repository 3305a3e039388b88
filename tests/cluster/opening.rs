//! A collection opens only where each shard has the indexes that guard it.

use bucket_ops::{Ops, ProblemKind};
use bucket_runtime::{
    Bucket, Outlier,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};

use crate::support::{Book, Timed, database, documents_on_shards, on_shards, sharded, timed};

/// Shards a collection as an operator would.
async fn shard(db: &Database, collection: &str, key: Document) {
    let namespace = format!("{}.{collection}", db.name());
    let command = doc! { "shardCollection": namespace, "key": key };
    let admin = db.client().database("admin");
    admin.run_command(command).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn a_collection_that_is_sharded_by_other_fields_is_refused_with_its_shard_key() {
    for key in [
        doc! { "_id": 1 },
        doc! { "_id": "hashed" },
        doc! { "k": 1, "_id": 1 },
        doc! { "n": 1 },
    ] {
        let db = database("wrong_key").await;
        shard(&db, "timed", key.clone()).await;
        let error = Timed::buckets(&db).await.unwrap_err();
        assert!(
            error.is_shard_key_conflict() && !error.is_maybe_stored(),
            "{error}"
        );
        let text = error.to_string();
        for said in [
            &key.to_string(),
            "reshardCollection",
            &Timed::shard_key().to_string(),
        ] {
            assert!(text.contains(said), "{text}");
        }
    }
}

/// Two shards could each have a parent with the same id.
#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn parents_that_are_not_sharded_by_their_id_are_refused() {
    let db = database("wrong_parents").await;
    shard(&db, "books", doc! { "title": 1 }).await;
    let error = Book::outliers(&db).await.unwrap_err();
    assert!(error.is_shard_key_conflict(), "{error}");
}

/// G3. One shard cannot build its index, since a key has two open buckets there. The other shard can,
/// and a `mongos` may list that shard's index.
#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn a_shard_that_could_not_make_its_index_is_found_at_each_opening() {
    let db = database("unguarded").await;
    let created = Timed::create_collection(&db).sharded_hashed();
    created.await.unwrap();
    let unguarded = db.collection("timed");
    for k in 0..20_i64 {
        let open = |n: i64| {
            let at = DateTime::from_millis(n);
            let id = format!("{k}_{:013}", n);
            doc! { "_id": id, "k": k, "count": 1, "items": [{ "at": at, "n": n }] }
        };
        unguarded.insert_one(open(1)).await.unwrap();
    }
    let here = documents_on_shards(&db, "timed").await;
    assert!(here.iter().all(|count| *count > 0), "{here:?}");
    // Only on one shard.
    let second = doc! { "_id": "7_0000000000002", "k": 7_i64, "count": 0, "items": [] };
    unguarded.insert_one(second).await.unwrap();
    for _ in 0..3 {
        let error = Timed::buckets(&db).await.unwrap_err();
        assert!(error.is_several_open(), "{error}");
    }
    let left = Ops::<Timed>::of(&db).repair().await.unwrap().left;
    let mut kinds = left.iter().map(|left| &left.kind);
    assert!(
        kinds.all(|kind| *kind == ProblemKind::MissingIndex),
        "{left:?}"
    );
    let trades = Timed::buckets(&db).await.unwrap();
    for k in 0..20 {
        trades.append(&timed(k, 3)).await.unwrap();
    }
    assert_eq!(Ops::<Timed>::of(&db).verify().await.unwrap().problems, []);
}

/// G3. Somebody has dropped the index on one shard, bypassing the `mongos`.
#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn a_shard_that_has_lost_its_index_gets_it_back() {
    let (db, trades) = sharded::<Timed>("lost").await;
    let items = (0..20).map(|k| timed(k, 1));
    trades.append_many(items).await.unwrap();
    for shard in on_shards(&db).await {
        let drop = doc! { "dropIndexes": "timed", "index": "bucket_open" };
        shard.run_command(drop).await.unwrap();
        let trades = Timed::buckets(&db).await.unwrap();
        for k in 0..20 {
            trades.append(&timed(k, 2)).await.unwrap();
        }
    }
    assert_eq!(Ops::<Timed>::of(&db).verify().await.unwrap().problems, []);
    for shard in on_shards(&db).await {
        let names = shard.collection::<Timed>("timed").list_index_names().await;
        assert!(names.unwrap().contains(&"bucket_open".to_owned()));
    }
}

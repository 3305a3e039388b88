//! One cluster for all tests, and what each shard holds and was asked.

use bucket_runtime::mongodb::{
    Client, Database,
    bson::{Bson, DateTime, Document, doc},
};
use bucket_runtime::{Bucket, Buckets, Outlier, Outliers};
use bucket_testkit::{Cluster, Server};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "timed", id = "{k}_{at:millis}", capacity = 10)]
pub(crate) struct Timed {
    pub(crate) k: i64,
    pub(crate) at: DateTime,
    pub(crate) n: i64,
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "numbered", id = "{k}_{#}", capacity = 10)]
pub(crate) struct Numbered {
    pub(crate) k: i64,
    pub(crate) n: i64,
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "windows", id = "{k}_{at/1h}", capacity = 10)]
pub(crate) struct Windowed {
    pub(crate) k: i64,
    pub(crate) at: DateTime,
    #[bucket(sum)]
    pub(crate) n: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "books",
    extras = "extra_books",
    reference = "book_id",
    threshold = 5,
    extras_capacity = 10
)]
pub(crate) struct Book {
    #[serde(rename = "_id")]
    pub(crate) id: i64,
    #[outlier(items)]
    pub(crate) buyers: Vec<i64>,
}

/// The nth item of a key, one second after the one before.
pub(crate) fn timed(k: i64, n: i64) -> Timed {
    let at = DateTime::from_millis(1_700_000_000_000 + n * 1000);
    Timed { k, at, n }
}

/// The nth item of a key, a quarter of an hour after the one before.
pub(crate) fn windowed(k: i64, n: i64) -> Windowed {
    let at = DateTime::from_millis(1_700_000_000_000 + n * 900_000);
    Windowed { k, at, n }
}

/// The tests' cluster.
pub(crate) async fn cluster() -> &'static Cluster {
    let server = Server::shared().await.unwrap();
    server
        .cluster()
        .expect("the cluster that BUCKET_TESTKIT_SERVER=8.2-cluster starts")
}

/// An empty database of the cluster, through the test's own client.
pub(crate) async fn database(test: &str) -> Database {
    let db = cluster().await.database(test).await.unwrap();
    db.drop().await.unwrap();
    db
}

/// An empty database with a collection that is sharded by the first key field, hashed.
pub(crate) async fn sharded<T: Bucket>(test: &str) -> (Database, Buckets<T>) {
    let db = database(test).await;
    let buckets = sharded_in(&db).await;
    (db, buckets)
}

pub(crate) async fn sharded_in<T: Bucket>(db: &Database) -> Buckets<T> {
    T::create_collection(db).sharded_hashed().await.unwrap();
    T::buckets(db).await.unwrap()
}

/// An empty database with parents and extras that are sharded by the parents' id, hashed.
pub(crate) async fn sharded_parents<T: Outlier>(test: &str) -> (Database, Outliers<T>) {
    let db = database(test).await;
    T::create_collections(&db).sharded_hashed().await.unwrap();
    let parents = T::outliers(&db).await.unwrap();
    (db, parents)
}

/// A database on each shard, bypassing the `mongos`.
pub(crate) async fn on_shards(db: &Database) -> Vec<Database> {
    let mut on_shards = Vec::new();
    for shard in cluster().await.shards() {
        let client: Client = shard.client().await.unwrap();
        on_shards.push(client.database(db.name()));
    }
    on_shards
}

/// How many documents of a collection each shard holds.
pub(crate) async fn documents_on_shards(db: &Database, collection: &str) -> Vec<u64> {
    let mut counts = Vec::new();
    for shard in on_shards(db).await {
        let here = shard.collection::<Document>(collection);
        counts.push(here.count_documents(doc! {}).await.unwrap());
    }
    counts
}

pub(crate) async fn documents(db: &Database, collection: &str) -> Vec<Document> {
    let found = db.collection::<Document>(collection).find(doc! {}).await;
    found.unwrap().try_collect().await.unwrap()
}

/// The numbers in the arrays of all documents of a collection, sorted.
pub(crate) async fn stored(db: &Database, collection: &str, array: &str) -> Vec<i64> {
    let mut stored = Vec::new();
    for document in documents(db, collection).await {
        let items = document.get_array(array).unwrap().iter();
        stored.extend(items.map(|item| match item {
            Bson::Document(item) => item.get_i64("n").unwrap(),
            item => item.as_i64().unwrap(),
        }));
    }
    stored.sort_unstable();
    stored
}

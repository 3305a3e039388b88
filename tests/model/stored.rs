//! The documents of the model and of the server, side by side.

use bucket_runtime::mongodb::{
    Database,
    bson::{Bson, Document, doc},
};
use bucket_testkit::Server;
use futures_util::TryStreamExt;
use tokio::sync::OnceCell;

use crate::system::System;

/// The stored buckets: the id, items, count and seal of each.
type Stored = Vec<(String, Vec<i64>, i64, bool)>;

/// The server of this test process.
pub(crate) async fn server() -> &'static Server {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    SERVER
        .get_or_init(async || Server::start().await.unwrap())
        .await
}

pub(crate) fn of_model(system: &System) -> Stored {
    let buckets = system.server.buckets.iter().map(|bucket| {
        let suffix = match bucket.id.suffix {
            0 => String::new(),
            suffix => format!("_{suffix:06}"),
        };
        let id = format!("1_{:010}{suffix}", bucket.id.base);
        let items = bucket.items.iter().copied().map(i64::from).collect();
        (id, items, bucket.count.into(), bucket.sealed)
    });
    buckets.collect()
}

/// The stored buckets, as the raw driver reads them.
pub(crate) async fn of_server(db: &Database) -> Stored {
    let buckets = db.collection::<Document>("buckets");
    let found = buckets.find(doc! {}).sort(doc! { "_id": 1 }).await;
    let found: Vec<Document> = found.unwrap().try_collect().await.unwrap();
    let bucket = |bucket: &Document| {
        let items = bucket.get_array("items").unwrap().iter();
        let item = |item: &Bson| number(item.as_document().unwrap().get("n").unwrap());
        (
            bucket.get_str("_id").unwrap().to_owned(),
            items.map(item).collect(),
            number(bucket.get("count").unwrap()),
            bucket.contains_key("sealed"),
        )
    };
    found.iter().map(bucket).collect()
}

/// An open bucket without items, as another program may leave it.
pub(crate) async fn insert_empty(db: &Database) {
    let empty = doc! { "_id": "1_0000000000", "sensor": 1_i64, "count": 0, "items": [] };
    let buckets = db.collection::<Document>("buckets");
    buckets.insert_one(empty).await.unwrap();
}

fn number(value: &Bson) -> i64 {
    match value {
        Bson::Int32(int) => (*int).into(),
        Bson::Int64(int) => *int,
        other => panic!("{other:?} is not a whole number"),
    }
}

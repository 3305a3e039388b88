//! The documents of the model and of the server, side by side.

use bucket_runtime::mongodb::{
    Database,
    bson::{Bson, Document, doc},
};
use bucket_testkit::Server;
use futures_util::TryStreamExt;
use tokio::sync::OnceCell;

use crate::{
    server::Item,
    system::{Config, System},
};

/// Makes another number of an item that was changed.
const CHANGED: i64 = 100;

/// The stored documents: each bucket's id, items, count and seal, and the parent's items and flag.
#[derive(Debug, PartialEq)]
pub(crate) struct Stored {
    buckets: Vec<(String, Vec<i64>, i64, bool)>,
    parent: Option<(Vec<i64>, bool)>,
}

/// The server of this test process.
pub(crate) async fn server() -> &'static Server {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    SERVER
        .get_or_init(async || Server::start().await.unwrap())
        .await
}

pub(crate) fn of_model(system: &System, config: &Config) -> Stored {
    let number = |item: &Item| {
        let version = system.server.versions[usize::from(*item)];
        i64::from(*item) + CHANGED * i64::from(version)
    };
    let numbers = |items: &[Item]| items.iter().map(number).collect();
    let buckets = system.server.buckets.iter().map(|bucket| {
        let suffix = match bucket.id.suffix {
            0 => String::new(),
            suffix => format!("_{suffix:06}"),
        };
        let id = format!("1_{:010}{suffix}", bucket.id.base);
        let items = numbers(&bucket.items);
        (id, items, bucket.count.into(), bucket.sealed)
    });
    let parent = system.server.parent.as_ref();
    Stored {
        buckets: buckets.collect(),
        parent: parent
            .filter(|_| config.has_parent)
            .map(|parent| (numbers(&parent.items), parent.flag)),
    }
}

/// The stored documents, as the raw driver reads them.
pub(crate) async fn of_server(db: &Database, config: &Config) -> Stored {
    let array = match config.has_parent {
        true => "items_extra",
        false => "items",
    };
    let bucket = |bucket: &Document| {
        let id = bucket.get_str("_id").unwrap().to_owned();
        let count = number(bucket.get("count").unwrap());
        (
            id,
            numbers(bucket, array),
            count,
            bucket.contains_key("sealed"),
        )
    };
    let parent = |parent: &Document| {
        let flag = parent.get_bool("has_extras").unwrap_or(false);
        (numbers(parent, "items"), flag)
    };
    Stored {
        buckets: documents(db, "buckets").await.iter().map(bucket).collect(),
        parent: documents(db, "parents").await.first().map(parent),
    }
}

/// Inserts the parent without items.
pub(crate) async fn insert_parent(db: &Database) {
    let parent = doc! { "_id": 1_i64, "items": [] };
    let parents = db.collection::<Document>("parents");
    parents.insert_one(parent).await.unwrap();
}

/// An open bucket without items, as another program may leave it.
pub(crate) async fn insert_empty(db: &Database) {
    let empty = doc! { "_id": "1_0000000000", "sensor": 1_i64, "count": 0, "items": [] };
    let buckets = db.collection::<Document>("buckets");
    buckets.insert_one(empty).await.unwrap();
}

async fn documents(db: &Database, collection: &str) -> Vec<Document> {
    let collection = db.collection::<Document>(collection);
    let found = collection.find(doc! {}).sort(doc! { "_id": 1 }).await;
    found.unwrap().try_collect().await.unwrap()
}

fn numbers(document: &Document, array: &str) -> Vec<i64> {
    let items = document.get_array(array).unwrap().iter();
    // The items of buckets are documents, those of a parent are plain numbers.
    let item = |item: &Bson| match item {
        Bson::Document(item) => {
            let version = item.get("version").map_or(0, number);
            number(item.get("n").unwrap()) + CHANGED * version
        }
        plain => number(plain),
    };
    items.map(item).collect()
}

fn number(value: &Bson) -> i64 {
    match value {
        Bson::Int32(int) => (*int).into(),
        Bson::Int64(int) => *int,
        other => panic!("{other:?} is not a whole number"),
    }
}

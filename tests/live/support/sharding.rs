//! On a cluster, every collection of buckets is sharded just before its open index is created, so that
//! all tests run on collections spread over several shards.

use std::sync::{OnceLock, mpsc};

use bucket_runtime::mongodb::{
    Client, IndexModel,
    bson::{Bson, Document, doc},
    options::ClientOptions,
};
use tokio::runtime::Runtime;

/// Shards the collection whose open index this command creates.
///
/// The driver calls this before it sends the command, and waits for it, so another thread does the
/// work.
pub(crate) fn before(command: &Document, uri: &str) {
    let Some((namespace, key)) = about_to_be_opened(command) else {
        return;
    };
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).enable_all().build().unwrap()
    });
    static ROUTERS: tokio::sync::OnceCell<Vec<Client>> = tokio::sync::OnceCell::const_new();
    let (done, is_done) = mpsc::channel();
    let uri = uri.to_owned();
    runtime.spawn(async move {
        let routers = ROUTERS.get_or_init(|| routers(&uri)).await;
        shard(&routers[0], &namespace, key).await;
        for router in routers {
            learn(router, &namespace).await;
        }
        done.send(()).unwrap();
    });
    is_done.recv().unwrap();
}

/// A client of each mongos.
async fn routers(uri: &str) -> Vec<Client> {
    let all = ClientOptions::parse(uri).await.unwrap();
    let of = |host: &_| {
        let mut options = all.clone();
        options.hosts = vec![Clone::clone(host)];
        Client::with_options(options).unwrap()
    };
    all.hosts.iter().map(of).collect()
}

/// A read of all shards, after which they and this mongos know that the collection is sharded. If they
/// learned it within a transaction, the server would abort it (`StaleConfig`).
async fn learn(router: &Client, (db, collection): &(String, String)) {
    let collection = router.database(db).collection::<Document>(collection);
    collection.find_one(doc! {}).await.unwrap();
}

/// The key is hashed, since the ranges of a new collection all lie on one shard.
async fn shard(client: &Client, (db, collection): &(String, String), key: String) {
    let key = doc! { key: "hashed" };
    let admin = client.database("admin");
    let shard = doc! { "shardCollection": format!("{db}.{collection}"), "key": &key };
    if admin.run_command(shard.clone()).await.is_err() {
        // The collection holds documents, or it cannot be sharded and its test is about that.
        let collection = client.database(db).collection::<Document>(collection);
        let index = IndexModel::builder().keys(key).build();
        if collection.create_index(index).await.is_ok() {
            let _ = admin.run_command(shard).await;
        }
    }
}

/// The collection that is about to be opened, and the first field of its keys.
fn about_to_be_opened(command: &Document) -> Option<((String, String), String)> {
    let collection = command.get_str("createIndexes").ok()?.to_owned();
    let db = command.get_str("$db").ok()?.to_owned();
    let indexes = command.get_array("indexes").ok()?;
    let is_open = |index: &&Document| {
        (index.get_str("name")).is_ok_and(|name| name.starts_with("bucket_open"))
    };
    let index = indexes.iter().filter_map(Bson::as_document).find(is_open)?;
    let key = index.get_document("key").ok()?.keys().next()?.clone();
    Some(((db, collection), key))
}

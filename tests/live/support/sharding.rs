//! On a cluster, every collection of buckets is sharded at the moment when its open index is about to
//! be made, so that all tests run on collections that lie on several shards.

use std::sync::{OnceLock, mpsc};

use bucket_runtime::mongodb::{
    Client, IndexModel,
    bson::{Bson, Document, doc},
};
use tokio::runtime::Runtime;

/// Shards the collection that this command makes the open index of.
///
/// The driver calls this before it sends the command, and waits for it, so a thread of its own does the
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
    static CLIENT: tokio::sync::OnceCell<Client> = tokio::sync::OnceCell::const_new();
    let (done, is_done) = mpsc::channel();
    let uri = uri.to_owned();
    runtime.spawn(async move {
        let connect = || async { Client::with_uri_str(&uri).await.unwrap() };
        shard(CLIENT.get_or_init(connect).await, &namespace, key).await;
        done.send(()).unwrap();
    });
    is_done.recv().unwrap();
}

/// Hashed, since ranges of a new collection all lie on one shard.
async fn shard(client: &Client, (db, collection): &(String, String), key: String) {
    let key = doc! { key: "hashed" };
    let admin = client.database("admin");
    let shard = doc! { "shardCollection": format!("{db}.{collection}"), "key": &key };
    if admin.run_command(shard.clone()).await.is_err() {
        // It holds documents, or is one that cannot be sharded, which its test is about.
        let collection = client.database(db).collection::<Document>(collection);
        let index = IndexModel::builder().keys(key).build();
        if collection.create_index(index).await.is_ok() {
            let _ = admin.run_command(shard).await;
        }
    }
}

/// The collection, and the first field of its keys.
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

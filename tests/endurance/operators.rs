//! What operators do beside the writers, and a disk that is full.

use std::process::Command;

use bucket_runtime::mongodb::{
    Client, Database,
    bson::{Document, doc},
};
use futures_util::TryStreamExt;
use tokio::time::sleep;

use crate::{
    Result,
    failover::DATABASE,
    faults::{LONGER_THAN_AN_ELECTION, Target, admin},
    machines::{Machines, Node},
};

/// Builds an index on each collection of the writers, and drops it.
pub(crate) async fn build_indexes(machines: &Machines) -> Result<()> {
    let db = Client::with_options(machines.options().await?)?.database(DATABASE);
    for name in collections(&db).await? {
        let index = doc! { "name": "by_count", "key": { "count": -1, "_id": 1 } };
        let create = doc! { "createIndexes": &name, "indexes": [index] };
        db.run_command(create).await?;
        let drop = doc! { "dropIndexes": &name, "index": "by_count" };
        db.run_command(drop).await?;
    }
    Ok(())
}

/// Compacts each collection of the writers on a process that stays the primary.
pub(crate) async fn compact(node: &Node<'_>) -> Result<()> {
    let db = node.member.client().await?.database(DATABASE);
    for name in collections(&db).await? {
        db.run_command(doc! { "compact": name, "force": true })
            .await?;
    }
    Ok(())
}

/// Shuts each member of a replica set down and starts it again, the primary last.
pub(crate) async fn restart_all(machines: &Machines, target: Target) -> Result<()> {
    let Target::Primary(set) = target else {
        return Err("a mongos has no other members".into());
    };
    let primary = machines.primary(set).await.member.address();
    let mut nodes = Vec::from_iter(machines.members(set));
    nodes.sort_by_key(|node| node.member.address() == primary);
    for node in nodes {
        let shutdown = doc! { "shutdown": 1, "force": true, "timeoutSecs": 1 };
        // Its connections end before it answers.
        let _ = admin(&node).await?.run_command(shutdown).await;
        node.member.restart().await?;
        machines.settled().await;
    }
    Ok(())
}

/// Moves a chunk of some collection of the writers to another shard.
pub(crate) async fn move_chunk(mongos: &Node<'_>) -> Result<()> {
    let client = mongos.member.client().await?;
    let config = client.database("config");
    let of_writers = doc! { "_id": { "$regex": format!("^{DATABASE}[.]") } };
    let sharded = any(&config, "collections", of_writers).await?;
    let of_collection = doc! { "uuid": sharded.get("uuid") };
    let chunk = any(&config, "chunks", of_collection).await?;
    let other = doc! { "_id": { "$ne": chunk.get("shard") } };
    let other = any(&config, "shards", other).await?;
    let command = doc! {
        "moveRange": sharded.get("_id"),
        "min": chunk.get("min"),
        "toShard": other.get("_id"),
        "waitForDelete": true,
    };
    client.database("admin").run_command(command).await?;
    Ok(())
}

/// One of the documents that match, at random.
async fn any(db: &Database, collection: &str, filter: Document) -> Result<Document> {
    let one = [doc! { "$match": filter }, doc! { "$sample": { "size": 1 } }];
    let mut found = db.collection::<Document>(collection).aggregate(one).await?;
    let found = found.try_next().await?;
    found.ok_or_else(|| format!("none of {collection} matches").into())
}

/// The collections of the writers.
async fn collections(db: &Database) -> Result<Vec<String>> {
    let mut names = db.list_collection_names().await?;
    names.retain(|name| !name.starts_with("system."));
    Ok(names)
}

/// The disk of a process is full for a while: the system refuses each write to a file. The process ends by itself.
pub(crate) async fn fill_disk(node: &Node<'_>) -> Result<()> {
    let id = node.member.pid().ok_or("a process")?.to_string();
    let limit = ["--pid", &id, "--fsize=0"];
    let limited = Command::new("prlimit").args(limit).status()?;
    if !limited.success() {
        return Err("prlimit has failed".into());
    }
    sleep(LONGER_THAN_AN_ELECTION).await;
    Ok(node.member.restart().await?)
}

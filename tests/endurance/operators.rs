//! What operators do beside the writers, and a disk that is full.

use std::process::Command;

use bucket_runtime::mongodb::{
    Client, Database,
    bson::{Document, doc},
};
use futures_util::TryStreamExt;
use rand::seq::IndexedRandom;
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
    let config = mongos.member.client().await?.database("config");
    let of_writers = doc! { "_id": { "$regex": format!("^{DATABASE}[.]") } };
    let sharded = config.collection::<Document>("collections");
    let sharded = sharded
        .find(of_writers)
        .await?
        .try_collect::<Vec<_>>()
        .await?;
    let sharded = sharded.choose(&mut rand::rng()).ok_or("a collection")?;
    let of_collection = doc! { "uuid": sharded.get("uuid") };
    let chunks = config.collection::<Document>("chunks");
    let chunks = chunks
        .find(of_collection)
        .await?
        .try_collect::<Vec<_>>()
        .await?;
    let chunk = chunks.choose(&mut rand::rng()).ok_or("a chunk")?;
    let other = doc! { "_id": { "$ne": chunk.get("shard") } };
    let shards = config.collection::<Document>("shards");
    let other = shards.find_one(other).await?.ok_or("another shard")?;
    let command = doc! {
        "moveRange": sharded.get("_id"),
        "min": chunk.get("min"),
        "toShard": other.get("_id"),
        "waitForDelete": true,
    };
    admin(mongos).await?.run_command(command).await?;
    Ok(())
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

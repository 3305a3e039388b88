//! A cluster stores on each shard, and goes on when one of its parts is gone.
//!
//! Like every test that fetches MongoDB 8.2, which takes npm, these run only
//! when ignored tests are included.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::error::Error;

use bucket_testkit::{Cluster, ClusterBuilder, Member, ReplicaSet};
use mongodb::bson::{Document, doc};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::test]
#[ignore = "fetches MongoDB 8.2 with npm: cargo test --test cluster -- --include-ignored"]
async fn each_shard_stores_a_share_and_a_mongos_may_go() -> Outcome {
    let cluster = Cluster::start().await?;
    let client = cluster.client().await?;
    let shard_pets = doc! { "shardCollection": "zoo.pets", "key": { "_id": "hashed" } };
    client.database("admin").run_command(shard_pets).await?;
    let pets = client.database("zoo").collection::<Document>("pets");
    pets.insert_many((0..100).map(|n| doc! { "_id": n }))
        .await?;

    let mut stored = 0;
    for shard in cluster.shards() {
        let here = shard.database("zoo").await?.collection::<Document>("pets");
        let count = here.count_documents(doc! {}).await?;
        assert!(count > 0, "{} stores nothing", shard.name());
        stored += count;
    }
    assert_eq!(stored, 100);

    let [one, other] = cluster.mongos() else {
        return Err("not two mongos".into());
    };
    for (away, id) in [(one, 100), (other, 101)] {
        away.kill().await?;
        assert_eq!(away.pid(), None);
        pets.insert_one(doc! { "_id": id }).await?;
        away.restart().await?;
        let through_it = away.client().await?.database("zoo");
        let pets = through_it.collection::<Document>("pets");
        let found = pets.find_one(doc! { "_id": id }).await?;
        assert!(found.is_some(), "{} does not find it", away.address());
    }
    Ok(())
}

#[tokio::test]
#[ignore = "fetches MongoDB 8.2 with npm: cargo test --test cluster -- --include-ignored"]
async fn a_shard_of_three_survives_its_primary() -> Outcome {
    let cluster = small().members(3).start().await?;
    let pets = cluster.database("zoo").await?;
    let pets = pets.collection::<Document>("pets");
    pets.insert_one(doc! { "_id": "before" }).await?;

    let shard = &cluster.shards()[0];
    let old = shard.primary().await?;
    old.kill().await?;
    assert_ne!(shard.primary().await?.address(), old.address());
    pets.insert_one(doc! { "_id": "after" }).await?;
    assert_eq!(pets.count_documents(doc! {}).await?, 2);
    Ok(())
}

#[tokio::test]
#[ignore = "fetches MongoDB 8.2 with npm: cargo test --test cluster -- --include-ignored"]
async fn options_go_to_the_shards_and_fail_points_to_all() -> Outcome {
    let options = ["--wiredTigerCacheSizeGB", "0.3", "--setParameter"];
    let parameters = [
        "enableTestCommands=1",
        "--setParameter",
        "ttlMonitorSleepSecs=7",
    ];
    let cluster = small()
        .options(&options)
        .options(&parameters)
        .start()
        .await?;
    let shard = &cluster.shards()[0].members()[0];
    let config_server = &cluster.config_server().members()[0];
    assert_eq!(cache_gb(shard).await?, 0.3);
    assert_eq!(cache_gb(config_server).await?, 0.25);
    for member in [shard, config_server, &cluster.mongos()[0]] {
        let fail_point = doc! { "configureFailPoint": "failCommand", "mode": "off" };
        let admin = member.client().await?.database("admin");
        admin.run_command(fail_point).await?;
    }
    Ok(())
}

#[tokio::test]
#[ignore = "fetches MongoDB 8.2 with npm: cargo test --test cluster -- --include-ignored"]
async fn each_process_listens_on_loopback_alone() -> Outcome {
    let cluster = small().start().await?;
    let sets = cluster.shards().iter().chain([cluster.config_server()]);
    for member in sets.flat_map(ReplicaSet::members).chain(cluster.mongos()) {
        let admin = member.client().await?.database("admin");
        let options = admin.run_command(doc! { "getCmdLineOpts": 1 }).await?;
        let net = options.get_document("parsed")?.get_document("net")?;
        assert_eq!(net.get_str("bindIp")?, "127.0.0.1");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "fetches MongoDB 8.2 with npm: cargo test --test cluster -- --include-ignored"]
async fn a_cluster_needs_a_mongos_and_shards_need_members() {
    for (builder, reason) in [
        (Cluster::builder().mongos(0), "at least one mongos"),
        (Cluster::builder().members(0), "1 to 7 members"),
    ] {
        let error = builder.start().await.err().map(|error| error.to_string());
        assert!(
            error.as_ref().is_some_and(|text| text.contains(reason)),
            "{error:?}"
        );
    }
}

/// A cluster of few processes.
fn small() -> ClusterBuilder {
    Cluster::builder().shards(1).mongos(1)
}

async fn cache_gb(mongod: &Member) -> Outcome<f64> {
    let admin = mongod.client().await?.database("admin");
    let options = admin.run_command(doc! { "getCmdLineOpts": 1 }).await?;
    let engine = options
        .get_document("parsed")?
        .get_document("storage")?
        .get_document("wiredTiger")?
        .get_document("engineConfig")?;
    Ok(engine.get_f64("cacheSizeGB")?)
}

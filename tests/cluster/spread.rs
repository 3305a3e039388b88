//! How a load of many keys spreads over two shards.

use bucket_runtime::mongodb::bson::{Bson, Document, doc};

use crate::support::{Timed, cluster, documents_on_shards, sharded, timed};

const KEYS: i64 = 2000;

/// How many updates a shard has carried out.
async fn updates(shard: &bucket_testkit::ReplicaSet) -> i64 {
    let admin = shard.database("admin").await.unwrap();
    let status = admin.run_command(doc! { "serverStatus": 1 }).await.unwrap();
    let counters: &Document = status.get_document("opcounters").unwrap();
    match counters.get("update") {
        Some(Bson::Int32(updates)) => (*updates).into(),
        Some(Bson::Int64(updates)) => *updates,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn hashed_keys_spread_evenly() {
    let (db, trades) = sharded::<Timed>("spread").await;
    let shards = cluster().await.shards();
    let mut before = Vec::new();
    for shard in shards {
        before.push(updates(shard).await);
    }
    for round in 0..3 {
        let appends = (0..KEYS).map(|k| {
            let trades = trades.clone();
            tokio::spawn(async move { trades.append(&timed(k, round)).await.unwrap() })
        });
        for append in Vec::from_iter(appends) {
            append.await.unwrap();
        }
    }
    let documents = documents_on_shards(&db, "timed").await;
    assert_eq!(documents.iter().sum::<u64>(), KEYS as u64);
    let total: f64 = KEYS as f64;
    for (shard, (before, here)) in shards.iter().zip(before.iter().zip(&documents)) {
        let share = *here as f64 / total * 100.0;
        println!(
            "{}: {here} documents ({share:.1} %), {} updates",
            shard.name(),
            updates(shard).await - before
        );
        assert!((45.0..=55.0).contains(&share), "{share}");
    }
}

//! Clusters that lack something: the error says what, and never claims that an item is not stored where
//! it may be.

use std::time::Duration;

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{Client, Database, options::ClientOptions},
};
use bucket_testkit::Cluster;
use futures_util::TryStreamExt;

use crate::support::{Timed, sharded_in, timed};

/// A database through a client that does not wait half a minute for servers that are gone.
async fn impatient(cluster: &Cluster) -> Database {
    let mut options = ClientOptions::parse(cluster.uri()).await.unwrap();
    options.server_selection_timeout = Some(Duration::from_secs(10));
    Client::with_options(options).unwrap().database("bad_input")
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn a_cluster_without_shards_stores_nothing_and_says_so() {
    let empty = Cluster::builder().shards(0).start().await.unwrap();
    let db = impatient(&empty).await;
    let error = Timed::buckets(&db).await.unwrap_err();
    assert!(!error.is_maybe_stored(), "{error}");
    assert!(error.to_string().contains("shard"), "{error}");
    let error = Timed::create_collection(&db).sharded().await.unwrap_err();
    assert!(error.to_string().contains("shard"), "{error}");
}

/// G1: first one `mongos` is gone, then a shard, then the other `mongos`.
#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn parts_that_are_gone_leave_appends_stored_or_in_doubt() {
    let own = Cluster::start().await.unwrap();
    let db = impatient(&own).await;
    let trades: Buckets<Timed> = sharded_in(&db).await;
    for k in 0..20 {
        trades.append(&timed(k, 0)).await.unwrap();
    }

    own.mongos()[0].kill().await.unwrap();
    for k in 0..20 {
        trades.append(&timed(k, 1)).await.unwrap();
    }

    let member = &own.shards()[0].members()[0];
    member.kill().await.unwrap();
    let patient = Duration::from_secs(3);
    let (mut failed, mut stored) = (Vec::new(), Vec::new());
    for k in 0..20 {
        // A mongos waits longer for a shard than this test does: a dropped append may still be stored.
        match tokio::time::timeout(patient, trades.append(&timed(k, 2)).into_future()).await {
            Ok(Ok(_)) => stored.push(k),
            Ok(Err(error)) => failed.push((k, error.is_maybe_stored())),
            Err(_) => failed.push((k, true)),
        }
    }
    assert!(
        !stored.is_empty(),
        "no append to the other shard was stored"
    );
    assert!(!failed.is_empty(), "no append to this shard failed");
    member.restart().await.unwrap();
    // Each new append waits for those of its key that are still under way.
    for k in 0..20 {
        trades.append(&timed(k, 3)).await.unwrap();
    }
    for k in 0..20 {
        let items: Vec<_> = trades.items(&k).await.unwrap().try_collect().await.unwrap();
        let times = |n: i64| items.iter().filter(|item| item.n == n).count();
        assert_eq!((times(0), times(1), times(3)), (1, 1, 1), "{k}");
        match failed.iter().find(|(failed, _)| *failed == k) {
            None => assert_eq!(times(2), 1, "{k}"),
            Some((_, true)) => assert!(times(2) <= 1, "{k}"),
            Some((_, false)) => assert_eq!(times(2), 0, "{k}"),
        }
    }

    own.mongos()[1].kill().await.unwrap();
    let error = trades.append(&timed(0, 4)).await.unwrap_err();
    assert!(error.driver().is_some(), "{error}");
}

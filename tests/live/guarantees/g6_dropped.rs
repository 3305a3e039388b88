//! G6: dropping a call's future at any point breaks none of G2 to G5, and stores nothing twice.

use std::{future::IntoFuture, time::Duration};

use bucket_runtime::{Bucket, mongodb::Database};
use tokio::time::timeout;

use crate::support::{
    database::{Live, Recorded, at_rest, dense, number},
    tasks::JoinSet,
    zoo::entries::{Entry, Numbered3, Seconds3},
};

/// 64 tasks append, so that many items wait at the same time. Each task drops half of its futures after a random time,
/// from before the first byte is sent until after the answer.
async fn drop_at_random<T: Entry>(db: &Database, name: &str) {
    let buckets = T::buckets_in(db.collection::<()>(name)).await.unwrap();
    const WRITERS: i64 = 64;
    const ITEMS: i64 = 25;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let buckets = buckets.clone();
        writers.spawn(async move {
            let mut acknowledged = Vec::new();
            for n in writer * ITEMS..(writer + 1) * ITEMS {
                let entry = T::new(&format!("page {}", n % 4), n).at(1_698_321_600_000 + n % 3);
                let most = match rand::random() {
                    true => Duration::MAX,
                    false => Duration::from_micros(rand::random_range(0..6000)),
                };
                if let Ok(done) = timeout(most, buckets.append(&entry).into_future()).await {
                    done.unwrap();
                    acknowledged.push(n);
                }
            }
            acknowledged
        });
    }
    let acknowledged = writers.join_all().await.concat();

    let by_key = dense::<T>(at_rest(buckets.collection()).await);
    let mut stored = Vec::new();
    for bucket in by_key.values().flatten() {
        for item in bucket.get_array("items").unwrap() {
            let n = number(item.as_document().unwrap().get("n"));
            let page = format!("page {}", n % 4);
            assert_eq!(bucket.get_str("k").unwrap(), page, "G4");
            stored.push(n);
        }
    }
    stored.sort_unstable();
    let with_doubles = stored.len();
    stored.dedup();
    assert_eq!(stored.len(), with_doubles, "an item was stored twice");
    let sent = (WRITERS * ITEMS) as usize;
    assert!(acknowledged.len() < sent, "no future was dropped early");
    for n in acknowledged {
        let is_stored = stored.binary_search(&n).is_ok();
        assert!(is_stored, "G1: item {n} was acknowledged and is missing");
    }
}

#[bucket_testkit::test(multi_thread)]
async fn appends_dropped_at_random_points(db: Live) {
    drop_at_random::<Seconds3>(&db, "seconds").await;
    drop_at_random::<Numbered3>(&db, "numbers").await;
}

/// A future that was created but never polled has sent nothing.
#[bucket_testkit::test]
async fn an_append_that_is_not_awaited_sends_nothing(Recorded(db, record): Recorded) {
    let buckets = Numbered3::buckets(&db).await.unwrap();
    record.take();
    let entry = Numbered3::new("page", 0);
    drop(buckets.append(&entry));
    drop(buckets.append(&entry).into_future());
    drop(buckets.page("page", 1));
    assert_eq!(record.names(), Vec::<String>::new());
}

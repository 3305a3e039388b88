//! Bulk: where items come from, how many are buffered, how far a load has come, and what is left when
//! the server has gone.

use std::sync::atomic::{AtomicU64, Ordering};

use bucket_runtime::{
    Bucket,
    mongodb::{Client, Database, bson::Document, options::ClientOptions},
};
use bucket_testkit::ReplicaSet;
use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;

use crate::{
    append::combine::support::{
        Mark, Millis10, NOON, Numbered1, Numbered10, Seconds10, assert_stored, stored,
    },
    support::database::{Live, Recorded, fresh, ids},
};

fn item<T: Mark>(n: i64) -> T {
    T::new(n % 3, n).at(NOON + n * 700)
}

/// A stream that another task feeds, and that is not always ready.
#[bucket_testkit::test]
async fn a_load_from_a_channel(db: Live) {
    let marks = fresh::<Seconds10>(&db).await;
    let (sender, mut receiver) = mpsc::channel(3);
    let feed = tokio::spawn(async move {
        for n in 0..500 {
            sender.send(item::<Seconds10>(n)).await.unwrap();
            if n % 50 == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
    });
    let items = stream::poll_fn(|context| receiver.poll_recv(context));
    let load = marks.append_stream(items).buffer(20_000);
    assert_eq!(load.await.unwrap(), 500);
    feed.await.unwrap();
    assert_stored(&marks, (0..500).map(|n| (n % 3, n))).await;
}

/// A load takes from an endless stream as many items as the caller allows.
#[bucket_testkit::test]
async fn a_load_from_a_part_of_an_endless_stream(db: Live) {
    let marks = fresh::<Numbered10>(&db).await;
    let mut endless = stream::iter(0..).map(item::<Numbered10>);
    let load = marks.append_stream(endless.by_ref().take(100));
    assert_eq!(load.await.unwrap(), 100);
    assert_eq!(endless.next().await.unwrap().n(), 100);
    assert_stored(&marks, (0..100).map(|n| (n % 3, n))).await;
}

#[bucket_testkit::test]
async fn an_empty_load_sends_nothing(Recorded(db, record): Recorded) {
    let marks = fresh::<Seconds10>(&db).await;
    record.take();
    assert_eq!(marks.append_many([]).await.unwrap(), 0);
    drop(marks.append_many([item(1)]));
    assert_eq!(record.names(), Vec::<String>::new());
}

async fn buffers<T: Mark>(db: &Database) {
    const N: i64 = 120;
    for buffer in [0, 1, 1_000, usize::MAX] {
        let marks = fresh::<T>(db).await;
        let (calls, latest) = (AtomicU64::new(0), AtomicU64::new(0));
        let load = marks.append_many((0..N).map(item::<T>)).buffer(buffer);
        let load = load.on_progress(|stored| {
            calls.fetch_add(1, Ordering::SeqCst);
            let before = latest.swap(stored, Ordering::SeqCst);
            assert!(before < stored, "{stored} after {before}");
        });
        assert_eq!(load.await.unwrap(), N as u64);
        assert_eq!(latest.into_inner(), N as u64);
        let calls = calls.into_inner();
        if buffer <= 1 {
            assert_eq!(calls, N as u64, "each item by itself");
        }
        assert_stored(&marks, (0..N).map(|n| (n % 3, n))).await;
        for ns in stored(&marks).await.values() {
            assert!(ns.is_sorted());
        }
    }
}

#[bucket_testkit::test]
async fn any_buffer_stores_the_same_and_progress_counts_what_is_stored(db: Live) {
    buffers::<Seconds10>(&db).await;
    buffers::<Millis10>(&db).await;
    buffers::<Numbered1>(&db).await;
    buffers::<Numbered10>(&db).await;
}

/// With a large buffer, a load writes whole buckets, many in a command.
#[bucket_testkit::test]
async fn a_load_takes_few_commands(Recorded(db, record): Recorded) {
    for _ in 0..2 {
        let marks = fresh::<Numbered10>(&db).await;
        record.take();
        let items = (0..5_000).map(|n| Numbered10::new(n % 3, n));
        assert_eq!(marks.append_many(items).await.unwrap(), 5_000);
        let commands = record.names();
        assert!(commands.len() < 25, "{commands:?}");
        assert!(commands.iter().any(|name| name == "insert"));
    }
}

/// All items are within one second that already has buckets: the suffixes go on in order.
#[bucket_testkit::test]
async fn a_load_within_one_second_takes_suffixes_in_order(db: Live) {
    let marks = fresh::<Seconds10>(&db).await;
    let mut n = 0;
    let mut next = |items: i64| {
        n += items;
        (n - items..n).map(|n| Seconds10::new(7, n).at(NOON + n % 1000))
    };
    for item in next(25) {
        marks.append(&item).await.unwrap();
    }
    for items in [3, 40, 7, 95] {
        let load = marks.append_many(next(items));
        assert_eq!(load.await.unwrap(), items as u64);
    }
    assert_eq!(stored(&marks).await[&7], (0..n).collect::<Vec<_>>());
    let second = NOON / 1000;
    let suffixed = (1..n / 10).map(|suffix| format!("7_{second}_{suffix:06}"));
    let expected: Vec<_> = [format!("7_{second}")]
        .into_iter()
        .chain(suffixed)
        .collect();
    assert_eq!(ids(&marks).await, expected);
}

/// A load keeps failed items until the end, so their number is limited.
#[bucket_testkit::test]
async fn a_load_of_nothing_but_failures_stops_and_leaves_the_rest(db: Live) {
    let marks = fresh::<Seconds10>(&db).await;
    let bad = |n| Seconds10::new(1, n).at(i64::MAX / 2);
    let mut endless = (0..).map(bad);
    let load = marks.append_many(endless.by_ref()).buffer(10_000);
    let error = load.await.unwrap_err();
    let failed = error.failed().len() as i64;
    assert_eq!(error.stored(), 0);
    assert!((1..1_000).contains(&failed), "{failed}");
    assert_eq!(endless.next().unwrap().n(), failed);
}

/// The server dies in the middle of a load, and comes back. Items that were certainly stored are there,
/// items in doubt are there once or not at all, and the others, including those that the load never
/// took, are not there.
#[bucket_testkit::test(multi_thread)]
async fn a_server_that_dies_leaves_the_rest_in_the_callers_hands() {
    let set = ReplicaSet::start(1).await.unwrap();
    let mut options = ClientOptions::parse(set.uri()).await.unwrap();
    options.server_selection_timeout = Some(std::time::Duration::from_secs(2));
    let db = Client::with_options(options).unwrap().database("died");
    let marks = Seconds10::buckets(&db).await.unwrap();
    let (stored_so_far, mut watched) = tokio::sync::watch::channel(0);
    let load = tokio::spawn({
        let marks = marks.clone();
        async move {
            let mut rest = (0..).map(item::<Seconds10>);
            let load = marks.append_many(rest.by_ref()).buffer(10_000);
            let load =
                load.on_progress(|stored| stored_so_far.send_modify(|so_far| *so_far = stored));
            (load.await.unwrap_err(), rest.next().unwrap().n())
        }
    });
    watched.wait_for(|stored| *stored > 1_000).await.unwrap();
    let member = set.primary().await.unwrap();
    member.kill().await.unwrap();
    let (error, next) = load.await.unwrap();
    member.restart().await.unwrap();

    assert_eq!(error.stored() + error.failed().len() as u64, next as u64);
    let db = set.client().await.unwrap().database("died");
    let marks = Seconds10::buckets_in(db.collection::<Document>("marks"));
    let marks = marks.await.unwrap();
    let mut found: Vec<_> = stored(&marks).await.into_values().flatten().collect();
    found.sort_unstable();
    assert!(
        found.windows(2).all(|pair| pair[0] < pair[1]),
        "stored twice"
    );
    assert!(found.last() < Some(&next));
    let certain = |n: &i64| {
        error
            .failed()
            .binary_search_by_key(n, |f| f.index as i64)
            .is_err()
    };
    let lost = (0..next)
        .filter(certain)
        .find(|n| found.binary_search(n).is_err());
    assert_eq!(lost, None, "G1");
    for failed in error.failed() {
        assert_eq!(failed.item.n(), failed.index as i64);
        let is_there = found.binary_search(&failed.item.n()).is_ok();
        assert!(
            !is_there || failed.error.is_maybe_stored(),
            "{}",
            failed.error
        );
    }
}

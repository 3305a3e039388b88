//! Bulk: where items come from, how many are buffered, and how far a load has come.

use futures_util::stream;
use tokio::sync::mpsc;

use crate::{
    append::combine::support::{Mark, NOON, Numbered10, Seconds10, assert_stored},
    support::database::{Live, Recorded, fresh},
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

/// The least and the largest buffer. (`like_single.rs` has any between them, with each ordinal.)
#[bucket_testkit::test]
async fn any_buffer_stores_the_same_and_progress_counts_what_is_stored(db: Live) {
    const N: i64 = 120;
    for buffer in [0, 1, usize::MAX] {
        let marks = fresh::<Numbered10>(&db).await;
        let mut told = Vec::new();
        let load = marks.append_many((0..N).map(item)).buffer(buffer);
        let load = load.on_progress(|stored| told.push(stored));
        assert_eq!(load.await.unwrap(), N as u64);
        match buffer {
            0 | 1 => assert_eq!(told, Vec::from_iter(1..=N as u64), "each item by itself"),
            _ => assert_eq!(told.last(), Some(&(N as u64))),
        }
        assert_stored(&marks, (0..N).map(|n| (n % 3, n))).await;
    }
}

/// With a large buffer, a load writes whole buckets, many in a command.
#[bucket_testkit::test]
async fn a_load_takes_few_commands(Recorded(db, record): Recorded) {
    let marks = fresh::<Numbered10>(&db).await;
    record.take();
    let items = (0..5_000).map(|n| Numbered10::new(n % 3, n));
    assert_eq!(marks.append_many(items).await.unwrap(), 5_000);
    let commands = record.names();
    assert!(commands.len() < 25, "{commands:?}");
    assert!(commands.iter().any(|name| name == "insert"));
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

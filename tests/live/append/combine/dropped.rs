//! Combining: a caller that is dropped takes nothing away from the others.

use std::{future::IntoFuture, time::Duration};

use bucket_runtime::mongodb::Database;
use bucket_testkit::{Fate, Proxy};
use futures_util::poll;
use rand::Rng;

use crate::{
    append::combine::support::{Mark, Millis10, Numbered2, Seconds10, at_rest, carried},
    support::{
        database::{Live, Recorded, fresh, server},
        tasks::JoinSet,
    },
};

/// 200 appends at the same time, half of them dropped at random moments, from before the first byte is
/// sent until after the answer; on one key, and on a few.
async fn half_dropped<T: Mark>(db: &Database) {
    for keys in [1, 5, 150] {
        let marks = fresh::<T>(db).await;
        let mut callers = JoinSet::new();
        for n in 0..200 {
            let marks = marks.clone();
            let limit = (n % 2 == 1).then(|| rand::rng().random_range(0..15_000));
            callers.spawn(async move {
                let item = T::new(n % keys, n);
                let append = marks.append(&item).into_future();
                let acknowledged = match limit {
                    None => append.await,
                    Some(limit) => {
                        match tokio::time::timeout(Duration::from_micros(limit), append).await {
                            Ok(result) => result,
                            Err(_) => return None,
                        }
                    }
                };
                acknowledged.unwrap();
                Some((n % keys, n))
            });
        }
        let acknowledged = callers.join_all().await;
        let found = at_rest(&marks).await;
        let mut all: Vec<_> = found.values().flatten().copied().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "stored twice");
        for (k, n) in acknowledged.into_iter().flatten() {
            assert!(found[&k].contains(&n), "G1: {n} was acknowledged");
        }
    }
}

#[bucket_testkit::test(multi_thread)]
async fn appends_beside_dropped_ones_are_stored_once(db: Live) {
    half_dropped::<Seconds10>(&db).await;
    half_dropped::<Millis10>(&db).await;
    half_dropped::<Numbered2>(&db).await;
}

/// Appends whose callers leave before anything is sent are not sent.
#[bucket_testkit::test]
async fn appends_that_are_dropped_while_they_wait_are_not_sent(Recorded(db, record): Recorded) {
    let marks = fresh::<Seconds10>(&db).await;
    record.take();
    for keys in [1, 50] {
        let mut appends: Vec<_> = (0..100)
            .map(|n| Box::pin(marks.append(&Seconds10::new(n % keys, n)).into_future()))
            .collect();
        for append in &mut appends {
            assert!(poll!(append).is_pending());
        }
        drop(appends);
        // Everything queued before this append is handled before it.
        marks
            .append(&Seconds10::new(99, 1000 + keys))
            .await
            .unwrap();
        assert_eq!(carried(&record.take()), [[1]]);
    }
    assert_eq!(at_rest(&marks).await.into_keys().collect::<Vec<_>>(), [99]);
}

/// The caller whose append triggered the command leaves while the answer is held back; the appends
/// queued behind it are still sent.
#[bucket_testkit::test]
async fn the_first_caller_of_all_may_go(direct: Live) {
    let proxy = Proxy::start(server().await.uri()).await.unwrap();
    let marks = fresh::<Numbered2>(&proxy.database(direct.name()).unwrap()).await;
    marks.append(&Numbered2::new(7, 0)).await.unwrap();
    proxy.next("$push", [Fate::Hold]);
    let mut first = Box::pin(marks.append(&Numbered2::new(7, 1)).into_future());
    while !proxy.is_done() {
        assert!(poll!(&mut first).is_pending());
        tokio::task::yield_now().await;
    }
    let others = (2..50).map(|n| Numbered2::new(7, n));
    let others = crate::append::combine::support::together(&marks, others);
    let (others, ()) = futures_util::join!(others, async {
        drop(first);
        tokio::task::yield_now().await;
        proxy.release();
    });
    assert!(others.iter().all(Result::is_ok));
    assert_eq!(at_rest(&marks).await[&7], (0..50).collect::<Vec<_>>());
}

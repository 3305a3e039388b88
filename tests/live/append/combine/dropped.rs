//! Combining: a caller that is dropped takes nothing away from the others.

use bucket_testkit::{Fate, Proxy};
use futures_util::poll;

use crate::{
    append::combine::support::{Mark, Numbered2, Seconds10, at_rest, carried, together},
    support::database::{Live, Recorded, fresh, server},
};

/// Appends whose callers leave before anything is sent are not sent.
#[bucket_testkit::test]
async fn appends_that_are_dropped_while_they_wait_are_not_sent(Recorded(db, record): Recorded) {
    let marks = fresh::<Seconds10>(&db).await;
    record.take();
    for keys in [1, 50] {
        let append = |n| Box::pin(marks.append(&Seconds10::new(n % keys, n)).into_future());
        let mut appends = Vec::from_iter((0..100).map(append));
        for append in &mut appends {
            assert!(poll!(append).is_pending());
        }
        drop(appends);
        // Everything queued before this append is handled before it.
        let last = Seconds10::new(99, 1000 + keys);
        marks.append(&last).await.unwrap();
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
    let others = together(&marks, others);
    let (others, ()) = futures_util::join!(others, async {
        drop(first);
        tokio::task::yield_now().await;
        proxy.release();
    });
    assert!(others.iter().all(Result::is_ok));
    assert_eq!(at_rest(&marks).await[&7], (0..50).collect::<Vec<_>>());
}

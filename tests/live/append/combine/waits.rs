//! Combining: appends that wait at the same time travel together, and no append waits needlessly.

use std::{future::IntoFuture, time::Duration};

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Client, Database,
        bson::{Document, doc},
    },
};
use bucket_testkit::{Fate, Proxy};
use futures_util::{future::join_all, poll};

use crate::{
    append::combine::support::{
        Mark, Millis2, Numbered1, Numbered10, Seconds1, Seconds10, assert_stored, carried, stored,
        together,
    },
    support::{
        database::{Live, Record, Recorded, fresh, listening, server},
        tasks::JoinSet,
    },
};

const N: i64 = 200;

fn one_key(n: i64) -> Vec<(i64, i64)> {
    (0..n).map(|n| (7, n)).collect()
}

async fn append<T: Mark>(buckets: &Buckets<T>, items: &[(i64, i64)]) {
    let items = items.iter().map(|(k, n)| T::new(*k, *n));
    for result in together(buckets, items).await {
        result.unwrap();
    }
}

async fn few_commands<T: Mark>(db: &Database, record: &Record, items: &[(i64, i64)], most: usize) {
    let marks = fresh::<T>(db).await;
    record.take();
    append(&marks, items).await;
    let carried = carried(&record.take());
    assert!(carried.len() <= most, "{carried:?}");
    let full = T::SPEC.capacity as usize;
    assert!(carried.concat().iter().all(|items| *items <= full));
    assert_stored(&marks, items.iter().copied()).await;
}

#[bucket_testkit::test]
async fn appends_that_wait_for_one_key_travel_together(Recorded(db, record): Recorded) {
    let items = one_key(N);
    few_commands::<Seconds10>(&db, &record, &items, 10).await;
    few_commands::<Millis2>(&db, &record, &items, 10).await;
    few_commands::<Numbered10>(&db, &record, &items, 10).await;
    // A command holds a hundred statements.
    few_commands::<Numbered1>(&db, &record, &items, 10).await;
    few_commands::<Seconds1>(&db, &record, &items, 10).await;
}

#[bucket_testkit::test]
async fn appends_of_many_keys_travel_together(Recorded(db, record): Recorded) {
    let one_each: Vec<_> = (0..N).map(|n| (n, n)).collect();
    few_commands::<Seconds10>(&db, &record, &one_each, 4).await;
    few_commands::<Seconds1>(&db, &record, &one_each, 4).await;
    // With numbers, the first command finds no open bucket, and the second one opens one for each key.
    let marks = fresh::<Numbered10>(&db).await;
    record.take();
    append(&marks, &one_each).await;
    assert_eq!(carried(&record.take()), vec![vec![1; N as usize]; 2]);
    let again = Vec::from_iter(one_each.iter().map(|(k, n)| (*k, n + N)));
    append(&marks, &again).await;
    assert_eq!(carried(&record.take()), [vec![1; N as usize]]);
    assert_stored(&marks, (0..2 * N).map(|n| (n % N, n))).await;
}

#[bucket_testkit::test]
async fn a_handle_that_does_not_combine_sends_each_append_alone(Recorded(db, record): Recorded) {
    let marks = Numbered10::buckets(&db).combine(false).await.unwrap();
    record.take();
    append(&marks, &one_key(N)).await;
    let carried = carried(&record.take());
    assert!(carried.len() >= N as usize, "{}", carried.len());
    assert!(carried.iter().all(|statements| *statements == [1]));
    assert_stored(&marks, one_key(N)).await;
}

/// In a session an append travels alone and within the transaction, however many others wait for the
/// same key.
#[bucket_testkit::test]
async fn in_a_session_each_append_travels_alone_and_in_its_transaction(
    Recorded(db, record): Recorded,
) {
    let marks = fresh::<Numbered10>(&db).await;
    marks.append(&Numbered10::new(7, 0)).await.unwrap();
    for commit in [false, true] {
        let mut session = db.client().start_session().await.unwrap();
        let own = session.id().clone();
        session.start_transaction().await.unwrap();
        record.take();
        for n in 1..4 {
            let item = Numbered10::new(7, n);
            let append = marks.append(&item).session(&mut session);
            // Appends of other keys do not wait for the transaction.
            let others = (10..20).map(|k| Numbered10::new(k, n * 100 + k));
            let (inside, outside) =
                futures_util::join!(append.into_future(), together(&marks, others));
            inside.unwrap();
            assert!(outside.iter().all(Result::is_ok));
        }
        let is_own = |command: &Document| command.get_document("lsid").ok() == Some(&own);
        let (inside, outside): (Vec<_>, Vec<_>) = record.take().into_iter().partition(is_own);
        assert_eq!(carried(&inside), [[1], [1], [1]]);
        let is_in_transaction = |command: &Document| command.contains_key("autocommit");
        assert!(inside.iter().all(is_in_transaction));
        assert!(!outside.iter().any(is_in_transaction));
        if commit {
            session.commit_transaction().await.unwrap();
        } else {
            session.abort_transaction().await.unwrap();
            assert_eq!(stored(&marks).await[&7], [0]);
            let others = doc! { "k": { "$gte": 10 } };
            marks.collection().delete_many(others).await.unwrap();
        }
    }
    assert_eq!(stored(&marks).await[&7], [0, 1, 2, 3]);
}

/// While the answer to one command is held back, an append to another key is sent and answered. Appends
/// to the same key wait, and then travel together.
#[bucket_testkit::test]
async fn only_appends_of_the_same_key_wait_for_each_other(direct: Live) {
    let proxy = Proxy::start(server().await.uri()).await.unwrap();
    let marks = fresh::<Seconds10>(&proxy.database(direct.name()).unwrap()).await;
    proxy.next("$push", [Fate::Hold]);
    let first = Seconds10::new(7, 0);
    let mut first = Box::pin(marks.append(&first).into_future());
    while !proxy.is_done() {
        assert!(poll!(&mut first).is_pending());
        tokio::task::yield_now().await;
    }
    // This append is sent at once, and answered although the other one is not.
    marks.append(&Seconds10::new(8, 1)).await.unwrap();
    let before = proxy.met();
    let append = |n| Box::pin(marks.append(&Seconds10::new(7, n)).into_future());
    let mut others = Vec::from_iter((2..100).map(append));
    for other in &mut others {
        assert!(poll!(other).is_pending());
    }
    marks.append(&Seconds10::new(9, 100)).await.unwrap();
    let sent = proxy.met() - before;
    assert_eq!(sent, 1, "something of key 7 was sent meanwhile");
    proxy.release();
    first.await.unwrap();
    for other in join_all(others).await {
        other.unwrap();
    }
    let sent = proxy.met() - before - 1;
    assert!(sent <= 5, "98 appends took {sent} commands");
    let items = (0..100).map(|n| (if n == 1 { 8 } else { 7 }, n));
    assert_stored(&marks, items.chain([(9, 100)])).await;
    assert_eq!(stored(&marks).await[&7][0], 0);
}

/// Four commands are sent for whatever waits. Each further one carries at least four keys, and there are
/// eight at most.
#[bucket_testkit::test]
async fn further_commands_carry_several_keys(direct: Live) {
    let proxy = Proxy::start(server().await.uri()).await.unwrap();
    let (options, record) = listening(proxy.options());
    let client = Client::with_options(options).unwrap();
    let marks = fresh::<Seconds10>(&client.database(direct.name())).await;
    record.take();
    proxy.next("$push", [Fate::Hold; 8]);
    let mut appends = JoinSet::new();
    for k in 0..24 {
        let marks = marks.clone();
        appends.spawn(async move { marks.append(&Seconds10::new(k, k)).await.unwrap() });
        let waiting = appends.len();
        let expected = waiting.min(4) + (waiting.saturating_sub(4) / 4).min(4);
        while proxy.met() < expected {
            tokio::task::yield_now().await;
        }
        // A command too many would be sent now.
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(proxy.met(), expected, "{waiting} appends");
    }
    proxy.release();
    appends.join_all().await;
    let expected = [vec![vec![1]; 4], vec![vec![1; 4]; 5]].concat();
    assert_eq!(carried(&record.take()), expected);
    assert_stored(&marks, (0..24).map(|k| (k, k))).await;
}

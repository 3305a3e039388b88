//! `append_many` in a session: one transaction.

use bucket_runtime::{
    Buckets, Error,
    mongodb::{
        ClientSession, Database,
        bson::Document,
        error::{Error as DriverError, TRANSIENT_TRANSACTION_ERROR},
    },
};

use crate::{
    append::sessions::{append_in, client, opened, read},
    support::{
        database::{Live, Recorded, dense_buckets, documents, fresh},
        tasks::JoinSet,
        zoo::ticks::{Numbered1, Numbered3, Seconds3, Tick, Windows2},
    },
};

/// Items of two keys in turn.
fn of_two_keys<T: Tick>(n: impl IntoIterator<Item = i64>) -> Vec<T> {
    let of_both = |n| [T::new(5, n), T::new(6, n)];
    n.into_iter().flat_map(of_both).collect()
}

/// Into an open bucket, into further buckets, and into the first bucket of a key.
async fn begun<T: Tick>(db: &Database) -> (Buckets<T>, ClientSession) {
    let (steps, session) = opened::<T>(db).await;
    for n in 0..4 {
        steps.append(&T::new(5, n)).await.unwrap();
    }
    (steps, session)
}

async fn whole<T: Tick>(db: &Database, by_caller: bool) {
    let (steps, mut session) = begun::<T>(db).await;
    let mut first = 4;
    if by_caller {
        let before = documents(steps.collection()).await;
        session.start_transaction().await.unwrap();
        let load = steps.append_many(of_two_keys(4..12)).session(&mut session);
        assert_eq!(load.await.unwrap(), 16);
        assert_eq!(steps.count(&5).session(&mut session).await.unwrap(), 12);
        assert_eq!(documents(steps.collection()).await, before, "not committed");
        session.abort_transaction().await.unwrap();
        assert_eq!(documents(steps.collection()).await, before);
        // The handle has learned nothing that is not so.
        for item in of_two_keys(4..5) {
            steps.append(&item).await.unwrap();
        }
        first = 5;
        session.start_transaction().await.unwrap();
    }
    let mut told = Vec::new();
    let load = of_two_keys(first..12);
    let all = load.len() as u64;
    let load = steps
        .append_many(load)
        .on_progress(|stored| told.push(stored));
    assert_eq!(load.session(&mut session).await.unwrap(), all);
    assert_eq!(told, [all]);
    if by_caller {
        append_in(&mut session, &steps, 6, 12).await.unwrap();
        session.commit_transaction().await.unwrap();
    } else {
        steps.append(&T::new(6, 12)).await.unwrap();
    }
    assert_eq!(read(&steps, 5).await, Vec::from_iter(0..12));
    assert_eq!(read(&steps, 6).await, Vec::from_iter(4..13));
    dense_buckets(&steps).await;
    let nothing = steps.append_many(Vec::new()).session(&mut session);
    assert_eq!(nothing.await.unwrap(), 0);
}

#[bucket_testkit::test]
async fn g1_g2_g3_g5_a_load_in_a_session_is_stored_whole_and_in_order_or_not_at_all(db: Live) {
    for by_caller in [false, true] {
        whole::<Seconds3>(&db, by_caller).await;
        whole::<Numbered1>(&db, by_caller).await;
        whole::<Numbered3>(&db, by_caller).await;
        whole::<Windows2>(&db, by_caller).await;
    }
}

/// Half of the writers have transactions of their own, a fourth lets the call make them, and a fourth appends
/// single items.
async fn race<T: Tick>(db: &Database) {
    let (steps, _) = opened::<T>(db).await;
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let steps = steps.clone();
        writers.spawn(async move {
            let mut session = client(&steps).start_session().await.unwrap();
            for begin in [0, 4, 8] {
                let items = of_two_keys::<T>((writer * 100 + begin)..(writer * 100 + begin + 4));
                match writer % 4 {
                    0 => {
                        for item in &items {
                            steps.append(item).await.unwrap();
                        }
                    }
                    1 => {
                        let load = steps.append_many(items).session(&mut session);
                        assert_eq!(load.await.unwrap(), 8);
                    }
                    _ => {
                        let context = (steps.clone(), items);
                        let run = session.start_transaction();
                        let run = run.and_run(context, |session, (steps, items)| {
                            Box::pin(async move {
                                let load = steps.append_many(items.clone()).session(session);
                                load.await.map_err(Error::from).map_err(DriverError::from)
                            })
                        });
                        assert_eq!(run.await.unwrap(), 8);
                    }
                }
            }
        });
    }
    writers.join_all().await;
    for k in [5, 6] {
        let mut stored = read(&steps, k).await;
        for writer in 0..8 {
            let of_writer = stored.iter().filter(|n| **n / 100 == writer);
            let expected = (0..12).map(|n| writer * 100 + n);
            assert!(of_writer.copied().eq(expected), "G5: {stored:?}");
        }
        stored.sort_unstable();
        stored.dedup();
        assert_eq!(stored.len(), 8 * 12, "G1: each item once");
    }
    dense_buckets(&steps).await;
}

#[bucket_testkit::test(multi_thread)]
async fn g1_g2_g3_loads_in_sessions_beside_single_appends(db: Live) {
    race::<Seconds3>(&db).await;
    race::<Numbered3>(&db).await;
    race::<Windows2>(&db).await;
}

/// A transaction that lost a race may run again, and tells so.
#[bucket_testkit::test]
async fn g1_the_loser_of_a_race_stores_nothing_and_may_run_again(db: Live) {
    let (steps, mut loser) = begun::<Numbered3>(&db).await;
    loser.start_transaction().await.unwrap();
    assert_eq!(steps.count(&5).session(&mut loser).await.unwrap(), 4);
    steps.append(&Numbered3::new(5, 100)).await.unwrap();
    let load = steps.append_many(of_two_keys(4..8)).session(&mut loser);
    let error = load.await.unwrap_err();
    assert_eq!((error.stored(), error.failed().len()), (0, 8));
    let mut failed = error.failed().iter();
    assert!(failed.all(|failed| !failed.error.is_maybe_stored()));
    let driver = DriverError::from(Error::from(error));
    assert!(driver.contains_label(TRANSIENT_TRANSACTION_ERROR));
    let _ = loser.abort_transaction().await;
    assert_eq!(read(&steps, 5).await, [0, 1, 2, 3, 100]);
    assert_eq!(read(&steps, 6).await, [0; 0]);
}

#[bucket_testkit::test]
async fn what_is_too_much_for_a_transaction_is_refused_before_anything_is_sent(
    Recorded(db, record): Recorded,
) {
    let steps = fresh::<Seconds3>(&db).await;
    let mut session = client(&steps).start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    record.take();
    let mut items = (0..2000).map(|k| Seconds3::new(k, k));
    let load = steps.append_many(items.by_ref()).session(&mut session);
    let error = load.await.unwrap_err();
    assert!(error.as_ref().is_too_large(), "{error}");
    assert!(!error.as_ref().is_maybe_stored());
    assert_eq!((error.stored(), error.failed().len()), (0, 1001));
    assert_eq!(items.next().unwrap().n(), 1001, "no further one was taken");

    // The last of these no bucket can hold.
    let unfit = Seconds3::new(5, 2).at(i64::MAX);
    let load = [Seconds3::new(5, 0), Seconds3::new(5, 1), unfit];
    let error = steps.append_many(load).session(&mut session);
    let error = error.await.unwrap_err();
    assert!(error.as_ref().is_out_of_range(), "{error}");
    assert_eq!((error.stored(), error.failed().len()), (0, 3));
    assert_eq!(record.take(), [] as [Document; 0]);
    // So the transaction goes on.
    let load = (0..1000).map(|k| Seconds3::new(k, k));
    let load = steps.append_many(load).session(&mut session);
    assert_eq!(load.await.unwrap(), 1000);
    session.commit_transaction().await.unwrap();
    assert_eq!(documents(steps.collection()).await.len(), 1000);
}

#[bucket_testkit::test]
async fn a_load_in_a_session_takes_the_round_trips_of_its_docs(Recorded(db, record): Recorded) {
    let steps = fresh::<Numbered3>(&db).await;
    let mut session = client(&steps).start_session().await.unwrap();
    for k in [5, 6] {
        steps.append(&Numbered3::new(k, 0)).await.unwrap();
    }
    record.take();
    let load = steps.append_many(of_two_keys(1..3)).session(&mut session);
    assert_eq!(load.await.unwrap(), 4);
    // An update of each open bucket, and the commit.
    assert_eq!(record.take().len(), 3);
    let load = steps.append_many((0..6).map(|n| Numbered3::new(7, n)));
    assert_eq!(load.session(&mut session).await.unwrap(), 6);
    let commands = record.take().len();
    assert!(commands <= 2 * 3 + 1, "{commands}");
}

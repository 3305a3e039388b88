//! Transactions: all or nothing, and whoever loses a race can run again.

use bucket_runtime::mongodb::{
    Database,
    bson::{Document, doc},
    error::TRANSIENT_TRANSACTION_ERROR,
};

use crate::{
    append::sessions::{append_in, client, opened, read},
    support::{
        database::{Live, dense_buckets, documents, ids},
        zoo::ticks::{Numbered3, Seconds3, Tick},
    },
};

/// Into the open bucket, into further buckets at the same moment, and into the first bucket of a key: aborted, then
/// committed.
async fn all_or_nothing<T: Tick>(db: &Database, expected: [&str; 6]) {
    let (steps, mut session) = opened::<T>(db).await;
    // The ids of a neighbouring key end the same way.
    steps.append(&T::new(15, 0)).await.unwrap();
    for n in 0..5 {
        steps.append(&T::new(5, n)).await.unwrap();
    }
    let before = documents(steps.collection()).await;
    for commit in [false, true] {
        session.start_transaction().await.unwrap();
        for n in 5..10 {
            append_in(&mut session, &steps, 5, n).await.unwrap();
            append_in(&mut session, &steps, 6, n).await.unwrap();
        }
        assert_eq!(steps.count(&5).session(&mut session).await.unwrap(), 10);
        assert_eq!(steps.count(&6).session(&mut session).await.unwrap(), 5);
        let meanwhile = documents(steps.collection()).await;
        assert_eq!(meanwhile, before, "seen before the commit");
        if commit {
            session.commit_transaction().await.unwrap();
        } else {
            session.abort_transaction().await.unwrap();
            assert_eq!(documents(steps.collection()).await, before);
        }
    }
    assert_eq!(ids(&steps).await[1..], expected);
    assert_eq!(read(&steps, 5).await, Vec::from_iter(0..10));
    assert_eq!(read(&steps, 6).await, Vec::from_iter(5..10));
    dense_buckets(&steps).await;
}

#[bucket_testkit::test]
async fn an_aborted_transaction_leaves_nothing_and_a_committed_one_opens_further_buckets(db: Live) {
    let suffixed = [
        "5_1698335223",
        "5_1698335223_000001",
        "5_1698335223_000002",
        "5_1698335223_000003",
        "6_1698335223",
        "6_1698335223_000001",
    ];
    all_or_nothing::<Seconds3>(&db, suffixed).await;
    let numbered = [
        "5_0000000000",
        "5_0000000001",
        "5_0000000002",
        "5_0000000003",
        "6_0000000000",
        "6_0000000001",
    ];
    all_or_nothing::<Numbered3>(&db, numbered).await;
}

#[bucket_testkit::test]
async fn a_committed_transaction_stores_all_or_nothing(db: Live) {
    let (steps, mut session) = opened::<Seconds3>(&db).await;
    let own = db.collection::<Document>("own");
    let balance = doc! { "_id": "balance", "sum": 0 };
    own.insert_one(balance).await.unwrap();
    let (five, six) = (Seconds3::new(5, 1), Seconds3::new(6, 2));
    // The driver's shorter way, with an asynchronous closure.
    (session.start_transaction())
        .and_run2(async |session| {
            steps.append(&five).session(&mut *session).await?;
            steps.append(&six).session(&mut *session).await?;
            let add = doc! { "$inc": { "sum": 2 } };
            let add = own.update_one(doc! { "_id": "balance" }, add);
            add.session(session).await?;
            assert_eq!(documents(steps.collection()).await, []);
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(read(&steps, 5).await, [1]);
    assert_eq!(read(&steps, 6).await, [2]);
    assert_eq!(documents(&own).await, [doc! { "_id": "balance", "sum": 2 }]);
}

/// The driver's label tells the loser of a race that it lost, and the error that its item is not
/// stored.
async fn loser<T: Tick>(db: &Database, began_first: bool) {
    let (steps, mut loser) = opened::<T>(db).await;
    let mut winner = client(&steps).start_session().await.unwrap();
    // The loser's snapshot predates the winner's commit.
    loser.start_transaction().await.unwrap();
    assert_eq!(steps.count(&5).session(&mut loser).await.unwrap(), 0);
    winner.start_transaction().await.unwrap();
    append_in(&mut winner, &steps, 5, 0).await.unwrap();
    if began_first {
        winner.commit_transaction().await.unwrap();
    }
    let error = append_in(&mut loser, &steps, 5, 1).await.unwrap_err();
    let driver = error.driver().expect("the driver's error");
    let may_run_again = driver.contains_label(TRANSIENT_TRANSACTION_ERROR);
    assert!(may_run_again && !error.is_maybe_stored(), "{error}");
    assert_eq!(error.key(), Some("\"5\""));
    if !began_first {
        winner.commit_transaction().await.unwrap();
    }
    let _ = loser.abort_transaction().await;
    loser.start_transaction().await.unwrap();
    append_in(&mut loser, &steps, 5, 1).await.unwrap();
    loser.commit_transaction().await.unwrap();
    assert_eq!(read(&steps, 5).await, [0, 1]);
    dense_buckets(&steps).await;
}

#[bucket_testkit::test]
async fn the_loser_of_a_race_of_transactions_can_be_run_again(db: Live) {
    loser::<Seconds3>(&db, false).await;
    loser::<Seconds3>(&db, true).await;
    loser::<Numbered3>(&db, false).await;
    loser::<Numbered3>(&db, true).await;
}

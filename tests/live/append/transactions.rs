//! Transactions: all or nothing, and whoever loses a race can run again.

use bucket_runtime::mongodb::{
    Collection, Database,
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

async fn aborted<T: Tick>(db: &Database) {
    let (steps, mut session) = opened::<T>(db).await;
    for n in 0..5 {
        steps.append(&T::new(5, n)).await.unwrap();
    }
    let before = documents(steps.collection()).await;
    session.start_transaction().await.unwrap();
    for n in 5..10 {
        // Into the open bucket, into further buckets, and into the first bucket of a key.
        append_in(&mut session, &steps, 5, n).await.unwrap();
        append_in(&mut session, &steps, 6, n).await.unwrap();
    }
    assert_eq!(steps.count(&5).session(&mut session).await.unwrap(), 10);
    assert_eq!(steps.count(&6).session(&mut session).await.unwrap(), 5);
    assert_eq!(
        documents(steps.collection()).await,
        before,
        "seen before the commit"
    );
    session.abort_transaction().await.unwrap();
    assert_eq!(documents(steps.collection()).await, before);
    steps.append(&T::new(6, 0)).await.unwrap();
    assert_eq!(read(&steps, 6).await, [0]);
}

#[bucket_testkit::test]
async fn an_aborted_transaction_leaves_nothing(db: Live) {
    aborted::<Seconds3>(&db).await;
    aborted::<Numbered3>(&db).await;
}

#[bucket_testkit::test]
async fn a_committed_transaction_stores_all_or_nothing(db: Live) {
    let (steps, mut session) = opened::<Seconds3>(&db).await;
    let own: Collection<Document> = client(&steps)
        .database(&steps.collection().namespace().db)
        .collection("own");
    own.insert_one(doc! { "_id": "balance", "sum": 0 })
        .await
        .unwrap();
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
    assert_eq!(
        (read(&steps, 5).await, read(&steps, 6).await),
        (vec![1], vec![2])
    );
    assert_eq!(documents(&own).await, [doc! { "_id": "balance", "sum": 2 }]);
}

async fn further_buckets<T: Tick>(db: &Database, expected: [&str; 4]) {
    let (steps, mut session) = opened::<T>(db).await;
    // A neighbouring key whose ids end the same way.
    steps.append(&T::new(15, 0)).await.unwrap();
    session.start_transaction().await.unwrap();
    for n in 0..10 {
        append_in(&mut session, &steps, 5, n).await.unwrap();
    }
    session.commit_transaction().await.unwrap();
    assert_eq!(ids(&steps).await[1..], expected);
    assert_eq!(read(&steps, 5).await, (0..10).collect::<Vec<_>>());
    dense_buckets(&steps).await;
}

#[bucket_testkit::test]
async fn a_transaction_opens_further_buckets_at_the_same_moment(db: Live) {
    let suffixed = [
        "5_1698335223",
        "5_1698335223_000001",
        "5_1698335223_000002",
        "5_1698335223_000003",
    ];
    further_buckets::<Seconds3>(&db, suffixed).await;
    let numbered = [
        "5_0000000000",
        "5_0000000001",
        "5_0000000002",
        "5_0000000003",
    ];
    further_buckets::<Numbered3>(&db, numbered).await;
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
    let labelled = error
        .driver()
        .is_some_and(|e| e.contains_label(TRANSIENT_TRANSACTION_ERROR));
    assert!(labelled && !error.is_maybe_stored(), "{error}");
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

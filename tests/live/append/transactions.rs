//! Transactions: all or nothing, and whoever loses a race can run again.

use bucket_runtime::mongodb::{
    Collection, Database,
    bson::{Document, doc},
    error::{Error as DriverError, TRANSIENT_TRANSACTION_ERROR},
};

use crate::{
    append::sessions::{client, opened, read},
    support::{
        database::{Live, dense_buckets, documents, ids},
        tasks::JoinSet,
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
        steps
            .append(&T::new(5, n))
            .session(&mut session)
            .await
            .unwrap();
        steps
            .append(&T::new(6, n))
            .session(&mut session)
            .await
            .unwrap();
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
    session.start_transaction().await.unwrap();
    steps
        .append(&Seconds3::new(5, 1))
        .session(&mut session)
        .await
        .unwrap();
    steps
        .append(&Seconds3::new(6, 2))
        .session(&mut session)
        .await
        .unwrap();
    let add = doc! { "$inc": { "sum": 2 } };
    own.update_one(doc! { "_id": "balance" }, add)
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(documents(steps.collection()).await, []);
    session.commit_transaction().await.unwrap();
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
        steps
            .append(&T::new(5, n))
            .session(&mut session)
            .await
            .unwrap();
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
    steps
        .append(&T::new(5, 0))
        .session(&mut winner)
        .await
        .unwrap();
    if began_first {
        winner.commit_transaction().await.unwrap();
    }
    let error = steps
        .append(&T::new(5, 1))
        .session(&mut loser)
        .await
        .unwrap_err();
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
    steps
        .append(&T::new(5, 1))
        .session(&mut loser)
        .await
        .unwrap();
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

async fn race<T: Tick>(db: &Database) {
    let (steps, _) = opened::<T>(db).await;
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let steps = steps.clone();
        writers.spawn(async move {
            let mut session = client(&steps).start_session().await.unwrap();
            for n in writer * 5..(writer + 1) * 5 {
                let context = (steps.clone(), T::new(5, n), T::new(6, n));
                let transaction = session.start_transaction();
                transaction
                    .and_run(context, |session, (steps, five, six)| {
                        Box::pin(async move {
                            steps.append(five).session(&mut *session).await?;
                            steps
                                .append(six)
                                .session(session)
                                .await
                                .map_err(DriverError::from)
                        })
                    })
                    .await
                    .unwrap();
            }
        });
    }
    writers.join_all().await;
    for k in [5, 6] {
        let mut stored = read(&steps, k).await;
        stored.sort_unstable();
        assert_eq!(stored, (0..40).collect::<Vec<_>>(), "G1: each item once");
    }
    dense_buckets(&steps).await;
}

#[bucket_testkit::test(multi_thread)]
async fn racing_transactions_store_each_item_once(db: Live) {
    race::<Seconds3>(&db).await;
    race::<Numbered3>(&db).await;
}

/// The driver's shorter way, with an asynchronous closure.
#[bucket_testkit::test]
async fn a_transaction_can_be_run_with_an_async_closure(db: Live) {
    let (steps, mut session) = opened::<Seconds3>(&db).await;
    let (five, six) = (Seconds3::new(5, 1), Seconds3::new(6, 2));
    (session.start_transaction())
        .and_run2(async |session| {
            steps.append(&five).session(&mut *session).await?;
            steps
                .append(&six)
                .session(session)
                .await
                .map_err(DriverError::from)
        })
        .await
        .unwrap();
    assert_eq!(
        (read(&steps, 5).await, read(&steps, 6).await),
        (vec![1], vec![2])
    );
}

//! A command that is killed halfway: some of its items are stored by then, and no caller is told that
//! they are not.

use std::{collections::HashSet, time::Duration};

use bucket_runtime::{
    Error,
    mongodb::{
        ClientSession, Collection, Database,
        bson::{Document, doc},
    },
};
use futures_util::{TryStreamExt, future::join_all};

use crate::{
    error::doubt::support::{Handles, Mark},
    support::database::{Live, documents},
};

const KEYS: i64 = 40;

/// Handles with an open bucket for each key, and a transaction that blocks all writes to one of them.
async fn blocked(db: &Database) -> (Handles, ClientSession) {
    let on = Handles::new(db).await;
    for k in 0..KEYS {
        on.alone.append(&Mark::new(k, k)).await.unwrap();
    }
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let hold = doc! { "$set": { "held": true } };
    let held = (on.alone.collection()).update_one(doc! { "k": KEYS / 2 }, hold);
    held.session(&mut session).await.unwrap();
    (on, session)
}

/// Kills the writes that wait for the transaction, in an endless loop.
async fn kill_waiting(db: &Database) {
    let admin = db.client().database("admin");
    let ours = [
        format!("{}.marks", db.name()),
        "admin.$cmd.bulkWrite".to_owned(),
    ];
    let waiting = doc! {
        "ns": { "$in": ours.to_vec() },
        "op": { "$in": ["update", "insert", "bulkWrite", "command"] },
        "microsecs_running": { "$gt": 500_000 },
    };
    let pipeline = [doc! { "$currentOp": {} }, doc! { "$match": waiting }];
    loop {
        let found = admin.aggregate(pipeline.clone()).await.unwrap();
        let found: Vec<Document> = found.try_collect().await.unwrap();
        for operation in &found {
            let kill = doc! { "killOp": 1, "op": operation.get("opid").unwrap() };
            admin.run_command(kill).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn stored(marks: &Collection<Document>) -> HashSet<i64> {
    let documents = documents(marks).await;
    let items = documents
        .iter()
        .flat_map(|bucket| bucket.get_array("items").unwrap());
    items
        .map(|item| item.as_document().unwrap().get_i64("n").unwrap())
        .collect()
}

/// How many items are stored although their call failed. It asserts that no error says they are not.
async fn arrived(on: &Handles, failed: Vec<(i64, Error)>) -> usize {
    let stored = stored(on.alone.collection()).await;
    let arrived = failed.into_iter().filter(|(n, _)| stored.contains(n));
    arrived
        .map(|(n, error)| assert!(error.is_maybe_stored(), "{n}: {error}"))
        .count()
}

/// Calls until a command was killed halfway. Which key comes first in it is random, and on a slow server it may be killed
/// before its first statement.
async fn killed_halfway(db: &Database, call: impl AsyncFn(&Handles) -> Vec<(i64, Error)>) {
    for _ in 0..10 {
        db.drop().await.unwrap();
        let (on, session) = blocked(db).await;
        let failed = tokio::select! {
            failed = call(&on) => failed,
            () = kill_waiting(db) => unreachable!("it never returns"),
        };
        drop(session);
        if arrived(&on, failed).await > 0 {
            return;
        }
    }
    panic!("no command was killed halfway");
}

#[bucket_testkit::test]
async fn appends_that_travelled_in_a_command_that_was_killed_are_in_doubt(db: Live) {
    let call = async |on: &Handles| {
        let items = Vec::from_iter((0..KEYS).map(|k| Mark::new(k, 100 + k)));
        let appends = items.iter().map(|item| on.combined.append(item));
        let results = join_all(appends.map(IntoFuture::into_future)).await;
        let results = (100..).zip(results);
        Vec::from_iter(results.filter_map(|(n, result)| Some((n, result.err()?))))
    };
    killed_halfway(&db, call).await;
}

#[bucket_testkit::test]
async fn items_of_a_load_whose_command_was_killed_are_in_doubt(db: Live) {
    let call = async |on: &Handles| {
        let items = (0..KEYS).map(|k| Mark::new(k, 100 + k));
        let failed = on.alone.append_many(items).await.unwrap_err().into_failed();
        Vec::from_iter(
            failed
                .into_iter()
                .map(|failed| (failed.item.n, failed.error)),
        )
    };
    killed_halfway(&db, call).await;
}

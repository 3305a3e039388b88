//! Operations are killed at any point, and no call says that a stored item is not stored.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};

use bucket_runtime::mongodb::{
    Database,
    bson::{Bson, Document, doc},
};
use futures_util::{TryStreamExt, future::join_all};

use crate::{
    error::doubt::support::{Book, Handles, Mark},
    support::{
        database::{Live, documents},
        tasks::JoinSet,
    },
};

/// How long the test kills operations.
const TIME: Duration = Duration::from_secs(6);

/// How many numbers each call reserves: the most items that a call can store.
const STEP: i64 = 100;

/// Kills whatever the server does in this database.
async fn kill_all(db: Database, end: Arc<AtomicBool>) {
    let admin = db.client().database("admin");
    let of_us = doc! { "$match": { "ns": { "$regex": format!("^{}[.]", db.name()) } } };
    while !end.load(Relaxed) {
        let pipeline = [doc! { "$currentOp": {} }, of_us.clone()];
        let found = admin.aggregate(pipeline).await.unwrap();
        let found: Vec<Document> = found.try_collect().await.unwrap();
        for operation in found {
            if let Some(id) = operation.get("opid") {
                let _ = admin.run_command(doc! { "killOp": 1, "op": id }).await;
            }
        }
    }
}

/// The answers to a writer: the items that are certainly not stored, how often it was in doubt, and the
/// acknowledged items.
#[derive(Default)]
struct Told {
    refused: Vec<i64>,
    in_doubt: usize,
    acknowledged: Vec<i64>,
}

#[derive(Clone, Copy)]
enum Way {
    Combined,
    Alone,
    InSession,
    Many,
    Push,
    Insert,
}

async fn write(way: Way, on: Handles, next: Arc<AtomicI64>, end: Arc<AtomicBool>) -> Told {
    let mut told = Told::default();
    while !end.load(Relaxed) {
        let n = next.fetch_add(STEP, Relaxed);
        let result = match way {
            Way::Combined => {
                let items = Vec::from_iter((n..n + STEP).map(|n| Mark::new(10 + n % STEP, n)));
                let appends = items
                    .iter()
                    .map(|item| on.combined.append(item).into_future());
                for (n, result) in (n..).zip(join_all(appends).await) {
                    match result {
                        Ok(_) => told.acknowledged.push(n),
                        Err(error) if error.is_maybe_stored() => told.in_doubt += 1,
                        Err(_) => told.refused.push(n),
                    }
                }
                continue;
            }
            Way::Many => {
                let items = (n..n + STEP).map(|n| Mark::new(n % 3, n));
                let failed = match on.alone.append_many(items).await {
                    Ok(_) => Vec::new(),
                    Err(error) => error.into_failed(),
                };
                let mut ns: HashSet<_> = (n..n + STEP).collect();
                for failed in failed {
                    ns.remove(&failed.item.n);
                    match failed.error.is_maybe_stored() {
                        true => told.in_doubt += 1,
                        false => told.refused.push(failed.item.n),
                    }
                }
                told.acknowledged.extend(ns);
                continue;
            }
            Way::Alone => on.alone.append(&Mark::new(n % 3, n)).await.map(drop),
            Way::InSession => {
                let mut session = on.db.client().start_session().await.unwrap();
                let append = on.alone.append(&Mark::new(n % 3, n));
                append.session(&mut session).await.map(drop)
            }
            Way::Push => on.books.push(&(n / STEP % 4), n).await.map(drop),
            Way::Insert => {
                let buyers = (n..n + 8).collect();
                match on.books.insert(&Book { id: n, buyers }).await {
                    // A read between the parent and its extras was killed.
                    Err(error) if error.stored() > 0 && !error.is_maybe_stored() => {
                        let others = n + error.stored() as i64;
                        told.acknowledged.extend(n..others);
                        told.refused.extend(others..n + 8);
                        continue;
                    }
                    result => result,
                }
            }
        };
        match result {
            Ok(()) => told.acknowledged.push(n),
            Err(error) if error.is_maybe_stored() => told.in_doubt += 1,
            Err(_) => told.refused.push(n),
        }
    }
    told
}

fn numbers(documents: &[Document], array: &str) -> Vec<i64> {
    let arrays = documents
        .iter()
        .filter_map(|found| found.get_array(array).ok());
    let number = |item: &Bson| match item {
        Bson::Document(item) => item.get_i64("n").unwrap(),
        other => other.as_i64().unwrap(),
    };
    arrays.flatten().map(number).collect()
}

#[bucket_testkit::test(multi_thread)]
async fn what_was_killed_and_is_stored_is_never_said_not_to_be(db: Live) {
    let on = Handles::new(&db).await;
    for id in 0..4 {
        let buyers = Vec::new();
        on.books.insert(&Book { id, buyers }).await.unwrap();
    }
    let (next, end) = (
        Arc::new(AtomicI64::new(100)),
        Arc::new(AtomicBool::new(false)),
    );
    let mut writers = JoinSet::new();
    for way in [
        Way::Combined,
        Way::Combined,
        Way::Combined,
        Way::Alone,
        Way::InSession,
        Way::Many,
        Way::Many,
        Way::Push,
        Way::Insert,
    ] {
        writers.spawn(write(way, on.clone(), Arc::clone(&next), Arc::clone(&end)));
    }
    let mut killers = JoinSet::new();
    for _ in 0..3 {
        killers.spawn(kill_all(db.clone(), Arc::clone(&end)));
    }
    tokio::time::sleep(TIME).await;
    end.store(true, Relaxed);
    killers.join_all().await;
    let told = writers.join_all().await;

    let mut stored = numbers(&documents(on.alone.collection()).await, "items");
    stored.extend(numbers(&documents(on.books.collection()).await, "buyers"));
    stored.extend(numbers(
        &documents(on.books.extras_collection()).await,
        "buyers_extra",
    ));
    let all = stored.len();
    let stored: HashSet<_> = stored.into_iter().collect();
    assert_eq!(stored.len(), all, "stored twice");
    assert!(
        told.iter().any(|told| told.in_doubt > 0),
        "nothing was killed"
    );
    for told in told {
        let lies: Vec<_> = told.refused.iter().filter(|n| stored.contains(n)).collect();
        assert!(lies.is_empty(), "{} are stored: {lies:?}", lies.len());
        let lost = told.acknowledged.iter().find(|n| !stored.contains(n));
        assert_eq!(lost, None, "acknowledged");
    }
}

//! The sessions whose numbers make commands repeatable belong to the driver, which goes on using them:
//! the server refuses none of the driver's own writes, and skips none as a repetition. The same holds
//! for our commands in a session that the driver has used.

use std::collections::HashMap;

use bucket_runtime::{
    Bucket,
    mongodb::{
        Database,
        bson::{Document, doc},
    },
};
use futures_util::future::join_all;

use crate::{
    append::combine::support::{Mark, NOON, Numbered10, Seconds10, assert_stored, together},
    support::database::{Record, Recorded, client, documents, fresh, number},
};

/// The server requires that the numbers of each session go up, in the order of sending. (A session has
/// at most one command in flight.) Commands that only find out a session's number may be lower.
fn assert_numbers_go_up(commands: &[Document]) -> HashMap<String, i64> {
    let mut latest = HashMap::new();
    for command in commands {
        let Some(next) = command.get("txnNumber").filter(|_| !is_probe(command)) else {
            continue;
        };
        let session = command.get_document("lsid").unwrap().to_string();
        let next = number(Some(next));
        let before = latest.insert(session, next).unwrap_or(0);
        let names_own = command.keys().next().unwrap();
        assert!(before < next, "{names_own}: {next} after {before}");
    }
    latest
}

/// Whether the command only finds out a session's number: it matches nothing.
fn is_probe(command: &Document) -> bool {
    command.to_string().contains("\"$in\": []")
}

/// The driver's own writes, `at_once` at a time.
async fn insert(db: &Database, first: i32, writes: i32, at_once: i32) {
    let plain = db.collection::<Document>("plain");
    for part in (first..first + writes).step_by(at_once as usize) {
        let inserts = (part..part + at_once).map(|n| plain.insert_one(doc! { "_id": n }));
        for result in join_all(inserts.map(IntoFuture::into_future)).await {
            result.unwrap();
        }
    }
}

async fn assert_inserted(db: &Database, writes: i32) {
    let found = documents(&db.collection::<Document>("plain")).await;
    let ids: Vec<_> = found.iter().map(|found| number(found.get("_id"))).collect();
    assert_eq!(ids, (0..i64::from(writes)).collect::<Vec<_>>());
}

/// Sends commands of several statements through a handle, and drops it.
async fn burst<T: Mark>(db: &Database, first: i64) {
    let marks = T::buckets(db).await.unwrap();
    for keys in [60, 1, 7] {
        let items = (first..first + 60).map(|n| T::new(n % keys, n * 10 + keys).at(NOON + n));
        for result in together(&marks, items).await {
            result.unwrap();
        }
    }
    let load = (first..first + 60).map(|n| T::new(n % 5, n * 10).at(NOON + n * 1000));
    marks.append_many(load).await.unwrap();
}

fn of_bursts(bursts: i64) -> impl Iterator<Item = (i64, i64)> {
    (0..bursts * 60).flat_map(|n| {
        let each = [60, 1, 7].map(|keys| (n % keys, n * 10 + keys));
        each.into_iter().chain([(n % 5, n * 10)])
    })
}

async fn opened<T: Mark>(Recorded(db, record): &Recorded) -> (&Database, &Record) {
    db.drop().await.unwrap();
    drop(fresh::<T>(db).await);
    record.take();
    (db, record)
}

#[bucket_testkit::test]
async fn handles_and_the_driver_go_on_with_each_others_sessions(on: Recorded) {
    let (db, record) = opened::<Numbered10>(&on).await;
    insert(db, 0, 777, 1).await;
    insert(db, 777, 120, 4).await;
    let before = assert_numbers_go_up(&record.take());
    assert!(before.values().any(|number| *number > 700));
    burst::<Numbered10>(db, 0).await;
    // Refused numbers are not above the driver's.
    let commands = record.take();
    let probes = commands.iter().filter(|command| is_probe(command)).count();
    assert!(
        (1..60).contains(&probes),
        "{probes} commands to find out numbers"
    );
    let ours = assert_numbers_go_up(&commands);
    for (session, number) in &ours {
        assert!(before.get(session).is_none_or(|before| before < number));
    }
    insert(db, 897, 300, 1).await;
    insert(db, 1197, 100, 10).await;
    assert_inserted(db, 1297).await;
    let theirs = assert_numbers_go_up(&record.take());
    let shared = theirs.keys().filter(|session| ours.contains_key(*session));
    assert!(shared.count() > 0, "the driver used none of our sessions");
    let marks = Numbered10::buckets(db).await.unwrap();
    assert_stored(&marks, of_bursts(1)).await;
}

/// A session goes from the driver to a handle and back, again and again, and its numbers go up by about
/// as many as the writes need.
#[bucket_testkit::test]
async fn numbers_do_not_run_away_however_many_handles_there_are(on: Recorded) {
    const ROUNDS: i32 = 20;
    let (db, record) = opened::<Seconds10>(&on).await;
    for round in 0..ROUNDS {
        insert(db, round, 1, 1).await;
        burst::<Seconds10>(db, i64::from(round) * 60).await;
    }
    let latest = assert_numbers_go_up(&record.take());
    let bound = i64::from(ROUNDS) * 500;
    assert!(latest.values().all(|number| *number < bound), "{latest:?}");
    assert_inserted(db, ROUNDS).await;
}

/// Handles are opened and dropped, beside the driver's own writes on the same client.
#[bucket_testkit::test(multi_thread)]
async fn handles_and_the_drivers_own_writes_take_turns(on: Recorded) {
    let (db, _) = opened::<Seconds10>(&on).await;
    let inserts = tokio::spawn({
        let db = db.clone();
        async move { insert(&db, 0, 600, 3).await }
    });
    for round in 0..12 {
        burst::<Seconds10>(db, round * 60).await;
    }
    inserts.await.unwrap();
    assert_inserted(db, 600).await;
    let marks = Seconds10::buckets(db).await.unwrap();
    assert_stored(&marks, of_bursts(12)).await;
}

/// The library finds out a session's number whatever the driver did last with the session, and however
/// often.
#[bucket_testkit::test]
async fn a_sessions_last_write_may_have_been_any(on: Recorded) {
    let writes = [
        "insert",
        "insert_many",
        "update",
        "upsert",
        "replace",
        "delete",
    ];
    let others = ["modify", "remove", "commit", "abort", "drop"];
    for last in writes.into_iter().chain(others) {
        for times in [1, 4] {
            let (db, _) = opened::<Seconds10>(&on).await;
            let client = client().await;
            let fresh_client = client.database(db.name());
            for n in 0..times {
                write(&fresh_client, last, n).await;
            }
            let marks = Seconds10::buckets(&fresh_client).await.unwrap();
            for result in together(&marks, (0..20).map(|n| Seconds10::new(n, n))).await {
                assert!(result.is_ok(), "{last} {times}: {result:?}");
            }
            assert_stored(&marks, (0..20).map(|n| (n, n))).await;
            insert(&fresh_client, 1000, 10, 1).await;
        }
    }
}

async fn write(db: &Database, what: &str, n: i32) {
    let plain = db.collection::<Document>("plain");
    let (one, set) = (doc! { "n": n }, doc! { "$set": { "x": 1 } });
    match what {
        "insert" => drop(plain.insert_one(one).await.unwrap()),
        "insert_many" => drop(plain.insert_many([one.clone(), one]).await.unwrap()),
        "update" => drop(plain.update_one(doc! {}, set).await.unwrap()),
        "upsert" => drop(plain.update_one(one, set).upsert(true).await.unwrap()),
        "replace" => drop(plain.replace_one(doc! {}, one).upsert(true).await.unwrap()),
        "modify" => {
            let modify = plain.find_one_and_update(one, set).upsert(true);
            modify.await.unwrap();
        }
        "delete" | "remove" => {
            // A write through another client, so that the delete is the session's first write.
            let other = client().await.database(db.name());
            let other = other.collection::<Document>("plain");
            other.insert_one(&one).await.unwrap();
            if what == "delete" {
                assert_eq!(plain.delete_one(one).await.unwrap().deleted_count, 1);
            } else {
                assert!(plain.find_one_and_delete(one).await.unwrap().is_some());
            }
        }
        _ => {
            let mut session = db.client().start_session().await.unwrap();
            session.start_transaction().await.unwrap();
            plain.insert_one(one).session(&mut session).await.unwrap();
            match what {
                "commit" => session.commit_transaction().await.unwrap(),
                "abort" => session.abort_transaction().await.unwrap(),
                _ => {}
            }
        }
    }
}

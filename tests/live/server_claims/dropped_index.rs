//! Assumptions about hints, about an index that is dropped, and about transactions beside writers.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bucket_runtime::mongodb::{
    ClientSession, Collection, Database,
    bson::{Bson, Document, doc},
    error::{Error, ErrorKind},
    options::Hint,
};
use bucket_testkit::Server;

use super::{create_open_index, is_taken, refusal};
use crate::support::{
    database::{Live, documents, number, wire_version},
    tasks::JoinSet,
};

async fn guarded(db: &Database, name: &str, capacity: i32) -> Collection<Document> {
    let trades = db.collection("trades");
    create_open_index(&trades, name, capacity).await.unwrap();
    trades
}

/// The append into the bucket with this id, by this index, from a writer that assumes this capacity.
async fn append(
    trades: &Collection<Document>,
    id: &str,
    hint: &str,
    capacity: i32,
    refused: bool,
) -> Result<bool, Error> {
    let filter = doc! {
        "customerId": 123, "sealed": { "$exists": false }, "count": { "$lt": capacity }, "_id": id,
    };
    let mut update = doc! { "$push": { "history": 1 }, "$inc": { "count": 1 } };
    if refused {
        update.insert("$setOnInsert", doc! { "_id": [] });
    }
    let action = trades.update_one(filter, update).upsert(true);
    let result = action.hint(Hint::Name(hint.to_owned())).await?;
    Ok(result.upserted_id.is_some())
}

#[bucket_testkit::test]
async fn by_the_open_index_an_append_to_an_id_inserts_fills_and_is_refused_as_by_the_id(db: Live) {
    let trades = guarded(&db, "bucket_open", 2).await;
    let by = async |id, refused| append(&trades, id, "bucket_open", 2, refused).await;
    assert!(by("a", false).await.unwrap(), "inserted");
    assert!(!by("a", false).await.unwrap(), "filled");
    // The bucket is full, and no longer in the index.
    is_taken(&by("a", false).await.unwrap_err(), "_id_");
    for id in ["a", "b"] {
        let error = by(id, true).await.unwrap_err();
        assert!(matches!(refusal(&error).0, 53 | 66));
    }
    assert!(by("b", false).await.unwrap(), "inserted");
    is_taken(&by("c", false).await.unwrap_err(), "bucket_open");
    let seal = vec![doc! { "$set": { "sealed": "$_id" } }];
    trades.update_one(doc! { "_id": "b" }, seal).await.unwrap();
    is_taken(&by("b", false).await.unwrap_err(), "_id_");
    let buckets = documents(&trades).await;
    let counts = buckets.iter().map(|bucket| number(bucket.get("count")));
    assert_eq!(Vec::from_iter(counts), [2, 1]);
}

/// This is why the index's name states the capacity: its bound alone refuses nothing.
#[bucket_testkit::test]
async fn a_hint_is_followed_though_the_index_holds_less_than_the_filter_asks_for(db: Live) {
    let trades = guarded(&db, "bucket_open", 3).await;
    assert!(append(&trades, "a", "bucket_open", 9, false).await.unwrap());
    for _ in 0..2 {
        assert!(!append(&trades, "a", "bucket_open", 9, false).await.unwrap());
    }
    let found = trades.find(doc! { "count": { "$lt": 9 } });
    let hint = Hint::Name("bucket_open".to_owned());
    let mut found = found.hint(hint).await.unwrap();
    let is_there = found.advance().await.unwrap();
    assert!(!is_there, "the full bucket is in the index");
    let refused = append(&trades, "a", "bucket_open", 9, false).await;
    is_taken(&refused.unwrap_err(), "_id_");
}

/// Runs statements by an index that is dropped and created again and again; the server may yield after
/// each step. Returns the items of the statements that were broken off, and what is stored.
async fn broken_off(db: &Database, by: &'static str) -> (Vec<i32>, Vec<i32>) {
    db.drop().await.unwrap();
    let trades = guarded(db, "bucket_open", 1_000_000).await;
    let bucket = doc! { "customerId": 123, "count": 0, "history": [] };
    trades.insert_one(bucket).await.unwrap();
    let end = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for task in 0..6 {
        let (db, end) = (db.clone(), Arc::clone(&end));
        tasks.spawn(async move {
            let mut broken_off = Vec::new();
            for n in task * 1_000_000.. {
                if end.load(Ordering::Relaxed) {
                    break;
                }
                let filter = doc! { "customerId": 123, "sealed": { "$exists": false } };
                let change = doc! { "$push": { "history": n }, "$inc": { "count": 1 } };
                let command = match by {
                    "update" => doc! {
                        "update": "trades",
                        "updates": [{ "q": filter, "u": change, "hint": "bucket_open" }],
                    },
                    _ => doc! {
                        "findAndModify": "trades",
                        "query": filter, "update": change, "hint": "bucket_open",
                    },
                };
                let code = match db.run_command(command).await {
                    Ok(reply) => reply.get_array("writeErrors").ok().map(|errors| {
                        let error = errors[0].as_document().unwrap();
                        error.get_i32("code").unwrap()
                    }),
                    Err(error) => Some(refusal(&error).0),
                };
                match code {
                    Some(175) => broken_off.push(n),
                    code => assert!(matches!(code, None | Some(2)), "{code:?}"),
                }
            }
            broken_off
        });
    }
    for _ in 0..100 {
        trades.drop_index("bucket_open").await.unwrap();
        guarded(db, "bucket_open", 1_000_000).await;
    }
    end.store(true, Ordering::Relaxed);
    let broken_off = tasks.join_all().await.concat();
    let bucket = &documents(&trades).await[0];
    let n = |item: &Bson| item.as_i32().unwrap();
    let stored = bucket.get_array("history").unwrap().iter().map(n);
    (broken_off, stored.collect())
}

/// Server 6.0 may have carried such an update out, so it is asked for again by its number. Server 8.2
/// has not, so it is sent again. A findAndModify is sent again on both.
#[bucket_testkit::test(multi_thread)]
async fn an_update_may_be_carried_out_though_it_is_broken_off_when_its_index_is_dropped() {
    let often = ["--setParameter", "internalQueryExecYieldIterations=1"];
    let server = Server::start_with(&often).await.unwrap();
    let db = server.database("claim_broken_off").await.unwrap();
    let (broken_off, stored) = broken_off(&db, "update").await;
    let carried_out = broken_off.iter().filter(|n| stored.contains(n)).count();
    assert!(!broken_off.is_empty());
    let expected = match wire_version().await {
        ..27 => 1..broken_off.len(),
        _ => 0..1,
    };
    assert!(expected.contains(&carried_out), "{carried_out}");
    let (broken_off, stored) = self::broken_off(&db, "findAndModify").await;
    assert!(!broken_off.is_empty());
    assert!(!broken_off.iter().any(|n| stored.contains(n)));
}

/// A transaction, and a bucket that another writer has opened since its snapshot.
async fn snapshot_before_opening(trades: &Collection<Document>) -> ClientSession {
    let mut session = trades.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let snapshot = trades.find_one(doc! {}).session(&mut session).await;
    assert!(snapshot.unwrap().is_some());
    let open = doc! { "_id": "123_2", "customerId": 123, "count": 0 };
    trades.insert_one(open).await.unwrap();
    session
}

fn is_conflict(error: &Error) -> bool {
    matches!(&*error.kind, ErrorKind::Command(error) if error.code == 112)
}

/// Server 6.0 looks for every deleted document in the unique index, also for those that are not in it. So
/// a transaction that deletes full buckets may be aborted, and has to be repeated. 8.2 does not.
#[bucket_testkit::test]
async fn deleting_a_full_bucket_conflicts_with_opening_another_of_its_key(db: Live) {
    let trades = guarded(&db, "open", 1).await;
    for customer in [123, 124] {
        let full = doc! { "_id": format!("{customer}_1"), "customerId": customer, "count": 1 };
        trades.insert_one(full).await.unwrap();
    }
    let mut session = snapshot_before_opening(&trades).await;

    let another = trades.delete_one(doc! { "_id": "124_1" });
    let deleted = another.session(&mut session).await.unwrap();
    assert_eq!(deleted.deleted_count, 1, "another key's bucket");
    let full = trades.delete_one(doc! { "_id": "123_1" });
    match full.session(&mut session).await {
        Ok(deleted) => assert!(wire_version().await >= 27 && deleted.deleted_count == 1),
        Err(error) => {
            assert!(is_conflict(&error) && wire_version().await < 27, "{error}");
        }
    }
}

/// A bucket that was opened and filled after a transaction's snapshot has left the index. Even so, the transaction
/// cannot open another of its key, which would be open before it.
#[bucket_testkit::test]
async fn a_transaction_cannot_open_a_bucket_if_one_was_open_since_it_began(db: Live) {
    let trades = guarded(&db, "open", 1).await;
    for customer in [123, 124] {
        let sealed = doc! { "customerId": customer, "count": 0, "sealed": "123_1" };
        trades.insert_one(sealed).await.unwrap();
    }
    let mut session = snapshot_before_opening(&trades).await;
    let fill = trades.update_one(doc! { "_id": "123_2" }, doc! { "$inc": { "count": 1 } });
    assert_eq!(fill.await.unwrap().modified_count, 1);

    let another = trades.insert_one(doc! { "_id": "124_1", "customerId": 124, "count": 0 });
    another.session(&mut session).await.unwrap();
    let earlier = trades.insert_one(doc! { "_id": "123_1", "customerId": 123, "count": 0 });
    let error = earlier.session(&mut session).await.unwrap_err();
    assert!(is_conflict(&error), "{error}");
}

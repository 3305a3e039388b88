//! Assumptions of the protocol about commands of several statements, with the raw driver alone.

use bucket_runtime::mongodb::{
    ClientSession, Database,
    bson::{Bson, Document, doc},
};

use super::refusal;
use crate::support::database::{Live, documents, is_cluster, number};

fn push(key: i64, id: &str) -> Document {
    doc! {
        "q": { "k": key, "count": { "$lt": 10 }, "_id": { "$gte": "", "$lt": "z" } },
        "u": { "$push": { "items": { "$each": [1] } }, "$inc": { "count": 1 }, "$setOnInsert": { "_id": id } },
        "upsert": true,
    }
}

/// An append that must not open a bucket: an array cannot be an `_id`, and the server notices only when
/// it would create a document.
fn push_to_open(key: i64) -> Document {
    let mut statement = push(key, "");
    let update = statement.get_document_mut("u").unwrap();
    update.insert("$setOnInsert", doc! { "_id": [] });
    statement
}

async fn update(db: &Database, statements: Vec<Document>, ordered: bool) -> Document {
    let command = doc! { "update": "buckets", "updates": statements, "ordered": ordered };
    db.run_command(command).await.unwrap()
}

/// The index and the code of each statement that was refused.
fn refusals(reply: &Document) -> Vec<(i64, i64)> {
    let errors = reply
        .get_array("writeErrors")
        .map_or(&[][..], Vec::as_slice);
    let refusal = |error: &Bson| {
        let error = error.as_document().unwrap();
        (number(error.get("index")), number(error.get("code")))
    };
    errors.iter().map(refusal).collect()
}

/// The count of each bucket.
async fn counts(db: &Database) -> Vec<i64> {
    let buckets = documents(&db.collection::<Document>("buckets")).await;
    let counts = buckets.iter().map(|bucket| number(bucket.get("count")));
    counts.collect()
}

/// If the filter names an `_id`, the error is that the `_id` must not be changed.
#[bucket_testkit::test]
async fn an_upsert_of_one_id_with_an_impossible_id_is_refused_if_nothing_matches(db: Live) {
    let of_id = |id: &str| {
        let mut statement = push_to_open(1);
        let filter = statement.get_document_mut("q").unwrap();
        filter.insert("_id", id);
        statement
    };
    let reply = update(&db, vec![push(1, "1"), of_id("1"), of_id("2")], true).await;
    assert_eq!(refusals(&reply), [(2, 66)], "{reply}");
    assert_eq!(counts(&db).await, [2]);
}

/// An upsert with an impossible `_id` is refused if nothing matches, and an update otherwise.
#[bucket_testkit::test]
async fn an_ordered_command_stops_at_the_first_refusal_and_an_unordered_one_goes_on(db: Live) {
    for (ordered, stored) in [(true, 1), (false, 2)] {
        db.drop().await.unwrap();
        let statements = vec![push(1, "1"), push_to_open(2), push_to_open(1)];
        let reply = update(&db, statements, ordered).await;
        assert_eq!(refusals(&reply), [(1, 53)], "{reply}");
        assert_eq!(number(reply.get("n")), stored);
        assert_eq!(counts(&db).await, [stored]);
    }
}

async fn numbered(
    db: &Database,
    session: &mut ClientSession,
    number: i64,
    statements: Vec<Document>,
) -> Result<Document, i32> {
    let command = doc! {
        "update": "buckets", "updates": statements, "ordered": false, "txnNumber": number,
    };
    let reply = db.run_command(command).session(session).await;
    reply.map_err(|error| refusal(&error).0)
}

/// Why a command can be repeated: the server remembers each statement of a session's latest number,
/// and answers a repetition without carrying it out again.
#[bucket_testkit::test]
async fn a_numbered_command_is_carried_out_once_however_often_it_is_sent(db: Live) {
    // A `mongos` turns it into a statement's error, which is why nothing is numbered there.
    if is_cluster().await {
        return;
    }
    let mut session = db.client().start_session().await.unwrap();
    let number_of = 1 << 40;
    for _ in 0..3 {
        let statements = vec![push(1, "1"), push_to_open(2), push(3, "3"), push(1, "1")];
        let reply = numbered(&db, &mut session, number_of, statements).await;
        let reply = reply.unwrap();
        assert_eq!(refusals(&reply), [(1, 53)], "{reply}");
        assert_eq!(number(reply.get("n")), 3);
    }
    assert_eq!(counts(&db).await, [2, 1]);
    let older = numbered(&db, &mut session, number_of - 1, vec![push(1, "1")]).await;
    assert_eq!(older, Err(225), "a number that is not the latest");
}

/// How a command learns which of its statements found nothing: the answer to a repetition names those that had been
/// carried out. A statement that had found nothing is tried again.
#[bucket_testkit::test]
async fn a_repeated_command_names_the_statements_that_it_had_carried_out(db: Live) {
    if is_cluster().await {
        return;
    }
    let mut session = db.client().start_session().await.unwrap();
    update(&db, vec![push(1, "1"), push(3, "3")], false).await;
    let fill = |key: i64| {
        let mut statement = push(key, "");
        statement.insert("upsert", false);
        statement
    };
    let number_of = 1 << 40;
    let mut send = async |before: &[i64]| {
        let statements = vec![fill(1), fill(2), fill(3)];
        let reply = numbered(&db, &mut session, number_of, statements);
        let reply = reply.await.unwrap();
        let retried = reply.get_array("retriedStmtIds").into_iter().flatten();
        let retried = Vec::from_iter(retried.map(|id| number(Some(id))));
        assert_eq!(retried, before, "{reply}");
        number(reply.get("n"))
    };
    assert_eq!(send(&[]).await, 2);
    assert_eq!(send(&[0, 2]).await, 2);
    update(&db, vec![push(2, "2")], false).await;
    assert_eq!(send(&[0, 2]).await, 3, "it is carried out now");
    assert_eq!(send(&[0, 1, 2]).await, 3);
    assert_eq!(counts(&db).await, [2; 3]);
}

/// A transaction that is started and aborted without a command costs no round trip and advances the
/// driver's own number for the session. That keeps our number below the driver's.
#[bucket_testkit::test]
async fn a_transaction_without_commands_advances_the_sessions_number(db: Live) {
    // A `mongos` turns it into a statement's error, which is why nothing is numbered there.
    if is_cluster().await {
        return;
    }
    let buckets = db.collection::<Document>("buckets");
    let mut session = db.client().start_session().await.unwrap();
    let first = buckets.insert_one(doc! { "_id": 0 });
    first.session(&mut session).await.unwrap();
    for _ in 0..1000 {
        session.start_transaction().await.unwrap();
        session.abort_transaction().await.unwrap();
    }
    let ours = numbered(&db, &mut session, 1000, vec![push(1, "1")]).await;
    ours.unwrap();
    // The driver's next number is 1002.
    let second = buckets.insert_one(doc! { "_id": 1 });
    second.session(&mut session).await.unwrap();
    let taken = numbered(&db, &mut session, 1001, vec![push(1, "1")]).await;
    assert_eq!(taken, Err(225));
    let third = buckets.insert_one(doc! { "_id": 2 });
    third.session(&mut session).await.unwrap();
}

/// This finds out a session's latest number: 0 is a number that the driver never uses.
#[bucket_testkit::test]
async fn a_number_that_is_too_old_is_refused_with_the_name_of_the_latest(db: Live) {
    // A `mongos` turns it into a statement's error, which is why nothing is numbered there.
    if is_cluster().await {
        return;
    }
    let mut session = db.client().start_session().await.unwrap();
    let fresh = numbered(&db, &mut session, 0, vec![push(1, "1")]).await;
    fresh.unwrap();
    let later = numbered(&db, &mut session, 4711, vec![push(1, "1")]).await;
    later.unwrap();
    let command = doc! { "update": "buckets", "updates": [push(1, "1")], "txnNumber": 0_i64 };
    let refused = db.run_command(command).session(&mut session).await;
    let refused = refused.unwrap_err();
    let (code, message) = refusal(&refused);
    assert_eq!(code, 225);
    let (_, named) = message.rsplit_once("txnNumber").unwrap();
    assert!(named.trim_start().starts_with("4711"), "{message}");
}

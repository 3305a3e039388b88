//! The process is killed at each step: this test binary starts itself again as another process, which
//! aborts when its nth command is about to be sent. Then the documents are checked.

use std::{env, process::Stdio};

use bucket_runtime::{Outlier, Outliers, mongodb::bson::doc};

use crate::{
    outlier::{
        events::counted,
        support::{Book, Book3x2, dense, fresh, items, repaired, stored},
    },
    support::{
        database::{Live, number, server},
        transactions::end_transactions,
    },
};

const CALL: &str = "BUCKET_TESTS_CALL";

/// Not a test: the other process runs one call, up to a command.
#[bucket_testkit::test]
#[ignore = "a process that another test starts"]
async fn the_other_process() {
    let Ok(call) = env::var(CALL) else {
        return;
    };
    let [db, nth, call] = call.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{call:?}");
    };
    let (db, events) = counted(db).await;
    let books = Book3x2::outliers(&db).await.unwrap();
    events.abort_before(nth.parse().unwrap());
    match call {
        "push_many" => assert_eq!(books.push_many(&7, 100..108).await.unwrap(), 8),
        "repair" => assert_eq!(repaired(&books).await.unwrap().left, []),
        other => panic!("no such call: {other}"),
    }
}

/// Carries out a call in another process. Returns whether it completed.
async fn call(uri: &str, books: &Outliers<Book3x2>, nth: usize, call: &str) -> bool {
    let told = format!("{} {nth} {call}", books.collection().namespace().db);
    let mut command = std::process::Command::new(env::current_exe().unwrap());
    command
        .args(["outlier::kill::the_other_process", "--exact", "--ignored"])
        .env(CALL, told)
        .env("MONGODB_URI", uri)
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        assert!(text.contains("1 passed"), "{text}");
        return true;
    }
    // A panic ends with a status, `abort` with a signal.
    assert_eq!(output.status.code(), None, "{text}");
    false
}

/// The first few values are stored, and the others can be pushed. What the other calls leave is what they leave when
/// they are dropped after an answer, which `steps.rs` shows.
#[bucket_testkit::test]
async fn a_process_killed_at_every_command_of_a_push_of_many(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    let values = Vec::from_iter(100..108);
    for length in [0, 3, 4, 5] {
        let own: Vec<i64> = (0..length).collect();
        for nth in 1.. {
            books.delete(&7).await.unwrap();
            books.insert(&Book3x2::new(7, own.clone())).await.unwrap();
            let done = call(server().await.uri(), &books, nth, "push_many").await;
            let all = stored(&books).await.remove(&7).unwrap().all();
            let new = &all[own.len()..];
            assert!(
                all.starts_with(&own) && values.starts_with(new),
                "O1, O5: {all:?}"
            );
            assert!(!done || new == values, "O1: {all:?}");
            assert!(nth > 1 || new.is_empty());
            let rest = values[new.len()..].to_vec();
            books.push_many(&7, rest).await.unwrap();
            let stored = dense(&books).await.remove(&7).unwrap();
            assert_eq!(stored.all(), [&own[..], &values].concat());
            if done {
                break;
            }
        }
    }
}

#[bucket_testkit::test]
async fn a_process_killed_at_every_command_of_a_split(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    for pushed in [0, 3] {
        for nth in 1.. {
            books.delete(&7).await.unwrap();
            let long =
                doc! { "_id": 7_i64, "title": "book 7", "buyers": (0..10_i64).collect::<Vec<_>>() };
            books.collection().insert_one(long).await.unwrap();
            for value in 10..10 + pushed {
                books.push(&7, value).await.unwrap();
            }
            let done = call(server().await.uri(), &books, nth, "repair").await;
            assert_eq!(items(&books, 7).await, (0..10 + pushed).collect::<Vec<_>>());
            // The dead process may have left a transaction open.
            let db = books.collection().namespace().db;
            end_transactions(books.collection().client(), &db).await;
            repaired(&books).await.unwrap();
            let stored = stored(&books).await.remove(&7).unwrap();
            assert_eq!(stored.parent, [0, 1, 2]);
            assert_eq!(stored.all(), (0..10 + pushed).collect::<Vec<_>>());
            if done {
                break;
            }
        }
    }
}

/// The server ends the transaction of a dead process after its time limit. Until then another split
/// waits, but does not give up.
#[bucket_testkit::test]
async fn a_split_waits_for_the_transaction_of_a_killed_process() {
    let options = ["--setParameter", "transactionLifetimeLimitSeconds=5"];
    let server = bucket_testkit::Server::start_with(&options).await.unwrap();
    if server.cluster().is_some() {
        // A `mongos` counts its clients' transactions, not those of the shards.
        return;
    }
    let name = format!("outlier_kill_split_{}", std::process::id());
    let db = server.database(&name).await.unwrap();
    let books = fresh::<Book3x2>(&db).await;
    let long = doc! { "_id": 7_i64, "title": "book 7", "buyers": (0..10_i64).collect::<Vec<_>>() };
    books.collection().insert_one(long).await.unwrap();
    let (mut open, mut left_open) = (0, 0);
    for nth in 1.. {
        assert!(
            !call(server.uri(), &books, nth, "repair").await,
            "the split ended before a transaction was left open"
        );
        let admin = books.collection().client().database("admin");
        let status = admin.run_command(doc! { "serverStatus": 1 }).await.unwrap();
        let writes = status.get_document("transactions").unwrap();
        open = number(writes.get("currentOpen"));
        left_open += usize::from(open > 0);
        // The third one has locked something.
        if left_open == 3 {
            break;
        }
        end_transactions(books.collection().client(), &name).await;
    }
    assert_eq!(open, 1, "the process was not killed before it committed");
    assert_eq!(items(&books, 7).await, (0..10).collect::<Vec<_>>());
    repaired(&books).await.unwrap();
    assert_eq!(stored(&books).await[&7].all(), (0..10).collect::<Vec<_>>());
}

//! The process is killed at each step: this test binary starts itself again as another process, which
//! aborts when its nth command is about to be sent. Then the documents are checked.

use std::{env, process::Stdio};

use bucket_runtime::{
    Appended, Outlier, Outliers,
    mongodb::{Database, bson::doc},
};

use crate::{
    outlier::{
        events::counted,
        support::{Book, books, dense, fresh, items, remove, repaired, stored, survey, verify},
    },
    support::{
        database::{Live, documents, server},
        transactions::end_transactions,
    },
};

const CALL: &str = "BUCKET_TESTS_CALL";

books! {
    Book3(3, 2)
}

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
    let books = Book3::outliers(&db).await.unwrap();
    events.abort_before(nth.parse().unwrap());
    match call {
        "push" => assert_eq!(books.push(&7, 100).await.unwrap(), Appended::Stored),
        "push_many" => assert_eq!(books.push_many(&7, 100..108).await.unwrap(), 8),
        "insert" => books
            .insert(&Book3::new(8, (0..9).collect()))
            .await
            .unwrap(),
        "remove" => assert!(remove(&books, &7, 0).await.unwrap()),
        "delete" => assert!(books.delete(&7).await.unwrap()),
        "repair" => assert_eq!(repaired(&books).await.unwrap().left, []),
        other => panic!("no such call: {other}"),
    }
}

/// Carries out a call in another process. Returns whether it completed.
async fn call(books: &Outliers<Book3>, nth: usize, call: &str) -> bool {
    call_at(server().await.uri(), books, nth, call).await
}

async fn call_at(uri: &str, books: &Outliers<Book3>, nth: usize, call: &str) -> bool {
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

async fn opened(db: &Database) -> Outliers<Book3> {
    fresh::<Book3>(db).await
}

async fn begin(books: &Outliers<Book3>, values: &[i64]) {
    books.delete(&7).await.unwrap();
    books.insert(&Book3::new(7, values.to_vec())).await.unwrap();
}

/// Ends the process before each command of a push in turn. Then the first few values are stored, and
/// the others can be pushed.
async fn push(db: &Database, name: &str, values: &[i64]) {
    let books = opened(db).await;
    for length in [0, 2, 3, 4, 5] {
        let own: Vec<i64> = (0..length).collect();
        for nth in 1.. {
            begin(&books, &own).await;
            let done = call(&books, nth, name).await;
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
            assert_eq!(stored.all(), [&own, values].concat());
            if done {
                break;
            }
        }
    }
}

#[bucket_testkit::test]
async fn a_process_killed_at_every_command_of_a_push(db: Live) {
    push(&db, "push", &[100]).await;
}

#[bucket_testkit::test]
async fn a_process_killed_at_every_command_of_a_push_of_many(db: Live) {
    push(&db, "push_many", &(100..108).collect::<Vec<_>>()).await;
}

#[bucket_testkit::test]
async fn a_process_killed_at_every_command_of_an_insert(db: Live) {
    let books = opened(&db).await;
    for nth in 1.. {
        books.delete(&8).await.unwrap();
        let done = call(&books, nth, "insert").await;
        let all = stored(&books).await.remove(&8).unwrap_or_default().all();
        assert_eq!(all, (0..all.len() as i64).collect::<Vec<_>>(), "O1, O5");
        assert_eq!(all.is_empty(), nth == 1, "the parent comes first");
        assert!(!done || all.len() == 9);
        if nth > 1 {
            books.push_many(&8, all.len() as i64..9).await.unwrap();
            assert_eq!(dense(&books).await[&8].all(), (0..9).collect::<Vec<_>>());
        }
        if done {
            break;
        }
    }
}

#[bucket_testkit::test]
async fn a_process_killed_at_every_command_of_a_remove(db: Live) {
    let books = opened(&db).await;
    for nth in 1.. {
        begin(&books, &[1, 0, 2, 0, 3, 0, 0, 4, 0]).await;
        let done = call(&books, nth, "remove").await;
        let mut all = stored(&books).await.remove(&7).unwrap().all();
        // The first command reads.
        assert!(nth < 3 || all.iter().filter(|value| **value == 0).count() < 5);
        all.retain(|value| *value != 0);
        assert_eq!(all, [1, 2, 3, 4]);
        remove(&books, &7, 0).await.unwrap();
        books.push(&7, 5).await.unwrap();
        assert_eq!(stored(&books).await[&7].all(), [1, 2, 3, 4, 5]);
        if done {
            break;
        }
    }
}

#[bucket_testkit::test]
async fn a_process_killed_at_every_command_of_a_delete(db: Live) {
    let books = opened(&db).await;
    for nth in 1.. {
        begin(&books, &(0..9).collect::<Vec<_>>()).await;
        let done = call(&books, nth, "delete").await;
        let found = survey(&books).await;
        assert_eq!(
            found.parents.contains_key(&7),
            nth == 1,
            "the parent goes first"
        );
        assert!(found.unflagged.is_empty(), "O3: {found:?}");
        assert_eq!(verify(&books).await.unwrap().len(), found.orphans.len());
        books.delete(&7).await.unwrap();
        assert_eq!(documents(books.extras_collection()).await, []);
        if done {
            break;
        }
    }
}

#[bucket_testkit::test]
async fn a_process_killed_at_every_command_of_a_split(db: Live) {
    let books = opened(&db).await;
    for pushed in [0, 3] {
        for nth in 1.. {
            books.delete(&7).await.unwrap();
            let long =
                doc! { "_id": 7_i64, "title": "book 7", "buyers": (0..10_i64).collect::<Vec<_>>() };
            books.collection().insert_one(long).await.unwrap();
            for value in 10..10 + pushed {
                books.push(&7, value).await.unwrap();
            }
            let done = call(&books, nth, "repair").await;
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
    let options = ["--setParameter", "transactionLifetimeLimitSeconds=10"];
    let server = bucket_testkit::Server::start_with(&options).await.unwrap();
    if server.cluster().is_some() {
        // A `mongos` counts its clients' transactions, not those of the shards.
        return;
    }
    let name = format!("outlier_kill_split_{}", std::process::id());
    let db = server.database(&name).await.unwrap();
    let books = fresh::<Book3>(&db).await;
    let long = doc! { "_id": 7_i64, "title": "book 7", "buyers": (0..10_i64).collect::<Vec<_>>() };
    books.collection().insert_one(long).await.unwrap();
    let (mut open, mut left_open) = (0, 0);
    for nth in 1.. {
        assert!(
            !call_at(server.uri(), &books, nth, "repair").await,
            "the split ended before a transaction was left open"
        );
        let admin = books.collection().client().database("admin");
        let status = admin.run_command(doc! { "serverStatus": 1 }).await.unwrap();
        let writes = status.get_document("transactions").unwrap();
        open = crate::support::database::number(writes.get("currentOpen"));
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

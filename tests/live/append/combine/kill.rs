//! A process that appends is killed: each item that it was told is stored is there once, in dense
//! buckets. This test binary starts itself again as the process to kill.

use std::{
    collections::BTreeSet,
    env,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use bucket_runtime::{Buckets, mongodb::Database};
use rand::Rng;

use crate::{
    append::combine::support::{Mark, NOON, Numbered10, Seconds10, at_rest},
    support::{
        database::{Live, client, fresh, server},
        tasks::JoinSet,
    },
};

const CALL: &str = "BUCKET_TESTS_KILLED";
const KEYS: i64 = 3;

/// Not a test: the other process runs this until it is killed.
#[bucket_testkit::test(multi_thread)]
#[ignore = "a process that another test starts"]
async fn the_process_that_is_killed() {
    let Ok(call) = env::var(CALL) else {
        return;
    };
    let [db, first, how] = call.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{call:?}");
    };
    let db = client().await.database(db);
    let first = first.parse().unwrap();
    match how {
        "seconds" => append::<Seconds10>(&db, first).await,
        "numbered" => append::<Numbered10>(&db, first).await,
        "seconds_many" => append_many::<Seconds10>(&db, first).await,
        "numbered_many" => append_many::<Numbered10>(&db, first).await,
        other => panic!("no such call: {other}"),
    }
}

/// Reports an acknowledged item on a pipe, since the test harness captures printed text.
fn tell(n: i64) {
    let line = format!("acknowledged {n}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

/// Each item is a third of a second later than the one before.
fn item<T: Mark>(n: i64) -> T {
    T::new(n % KEYS, n).at(NOON + n * 333)
}

async fn append<T: Mark>(db: &Database, first: i64) {
    let marks = T::buckets(db).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..32 {
        let marks = marks.clone();
        writers.spawn(async move {
            for n in (first + writer..).step_by(32) {
                marks.append(&item::<T>(n)).await.unwrap();
                tell(n);
            }
        });
    }
    writers.join_all().await;
}

async fn append_many<T: Mark>(db: &Database, first: i64) {
    let marks = T::buckets(db).await.unwrap();
    for load in 0.. {
        let ns = first + load * 500..first + (load + 1) * 500;
        let items = ns.clone().map(item::<T>);
        marks.append_many(items).buffer(20_000).await.unwrap();
        ns.for_each(tell);
    }
}

/// Starts the process, kills it once it has reported `items` items, and returns those.
fn kill_after(db: &str, first: i64, how: &str, uri: &str, items: usize) -> Vec<i64> {
    let mut child = Command::new(env::current_exe().unwrap())
        .args([
            "append::combine::kill::the_process_that_is_killed",
            "--exact",
            "--ignored",
        ])
        .env(CALL, format!("{db} {first} {how}"))
        .env("MONGODB_URI", uri)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = Vec::new();
    for line in lines {
        // The harness writes to the same pipe, and the last line may be cut off.
        let line = line.unwrap();
        let Some(n) = line.split("acknowledged ").nth(1) else {
            continue;
        };
        told.push(n.parse().unwrap());
        if told.len() == items {
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert_eq!(status.code(), None, "it was killed");
    // A number that was cut off could look like another number.
    told.pop();
    told
}

async fn killed<T: Mark>(db: &Database, how: &'static str) {
    let marks: Buckets<T> = fresh(db).await;
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let (name, uri) = (db.name().to_owned(), server().await.uri());
        let items = rand::rng().random_range(1..1500);
        let told = tokio::task::spawn_blocking(move || {
            kill_after(&name, round * 1_000_000, how, uri, items)
        });
        acknowledged.extend(told.await.unwrap());
        // A command that the server had received may still be on its way.
        let found = at_rest(&marks).await;
        let all: Vec<_> = found.values().flatten().copied().collect();
        let once: BTreeSet<_> = all.iter().copied().collect();
        assert_eq!(all.len(), once.len(), "stored twice");
        let lost = acknowledged.iter().find(|n| !once.contains(n));
        assert_eq!(lost, None, "G1: it was acknowledged");
        assert!(
            found
                .iter()
                .all(|(k, ns)| ns.iter().all(|n| n % KEYS == *k)),
            "G4"
        );
    }
}

#[bucket_testkit::test]
async fn what_a_killed_process_was_told_is_stored_once(db: Live) {
    killed::<Seconds10>(&db, "seconds").await;
    killed::<Numbered10>(&db, "numbered").await;
}

#[bucket_testkit::test]
async fn what_a_process_killed_in_a_load_was_told_is_stored_once(db: Live) {
    killed::<Seconds10>(&db, "seconds_many").await;
    killed::<Numbered10>(&db, "numbered_many").await;
}

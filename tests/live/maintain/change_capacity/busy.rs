//! Processes that are killed change the capacity while tasks append: each acknowledged item is there
//! once, and in the end all buckets are dense. This test binary starts itself again as those processes.

use std::{
    collections::BTreeMap,
    env,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bucket_runtime::{Buckets, mongodb::Database};
use bucket_testkit::Server;
use rand::Rng;

use crate::{
    maintain::change_capacity::moves::{
        Numbered7, Numbered10, Numbered25, Timed7, Timed10, Timed25, Trade, Windowed7, Windowed10,
        Windowed25, change, is_dense, is_sound,
    },
    support::{
        database::{client, documents},
        tasks::JoinSet,
        transactions::end_transactions,
    },
};

const CALL: &str = "BUCKET_TESTS_CHANGE_CAPACITY";
const WRITERS: i64 = 8;

/// Few keys, so that each is written to all the time.
const CUSTOMERS: i64 = 5;

/// Not a test: the other process runs this, to the end or until it is killed.
#[bucket_testkit::test(multi_thread)]
#[ignore = "a process that another test starts"]
async fn the_process_that_changes() {
    let Ok(call) = env::var(CALL) else {
        return;
    };
    let (db, to) = call.split_once(' ').unwrap();
    // `MONGODB_URI` names the test's server.
    let db = client().await.database(db);
    match to {
        "timed 25" => change::<Timed25>(&db, true).await,
        "timed 7" => change::<Timed7>(&db, true).await,
        "numbered 25" => change::<Numbered25>(&db, true).await,
        "numbered 7" => change::<Numbered7>(&db, true).await,
        "windowed 25" => change::<Windowed25>(&db, true).await,
        _ => change::<Windowed7>(&db, true).await,
    };
}

fn start(db: &Database, to: &str, uri: &str) -> Child {
    let separator = if uri.contains('?') { '&' } else { '?' };
    Command::new(env::current_exe().unwrap())
        .args([
            "maintain::change_capacity::busy::the_process_that_changes",
            "--exact",
            "--ignored",
        ])
        // So that a panic's message reaches standard error.
        .arg("--nocapture")
        .env(CALL, format!("{} {to}", db.name()))
        .env("MONGODB_URI", format!("{uri}{separator}appName={CALL}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills the process twice, then lets a third one finish.
async fn killed_and_called_again(db: &Database, to: &str, uri: &str) {
    for _ in 0..2 {
        let mut child = start(db, to, uri);
        let pause = rand::rng().random_range(20..600);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let _ = child.kill();
        child.wait().unwrap();
        // The server would hold the locks of its transaction for a minute.
        end_transactions(db.client(), CALL).await;
    }
    let mut child = start(db, to, uri);
    let status = tokio::task::block_in_place(|| child.wait());
    assert!(status.unwrap().success());
}

/// Appends until told to end; returns the first number and the one after the last acknowledged.
async fn write<T: Trade>(trades: Buckets<T>, first: i64, end: Arc<AtomicBool>) -> (i64, i64) {
    let mut n = first;
    while !end.load(Ordering::SeqCst) {
        let trade = T::new(n % CUSTOMERS, n);
        // This works while the index is missing, and under any capacity.
        trades.append(&trade).await.unwrap();
        n += 1;
    }
    (first, n)
}

async fn up_and_down<A: Trade, B: Trade, C: Trade>(how: &str, items: i64) {
    let server = Server::start().await.unwrap();
    let db = server.database("busy").await.unwrap();
    let old = A::buckets(&db).await.unwrap();
    let load = (0..items).map(|n| A::new(n % CUSTOMERS, n));
    old.append_many(load.collect::<Vec<_>>()).await.unwrap();

    let end = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let handle = match writer % 2 {
            0 => old.clone(),
            _ => A::buckets(&db).combine(false).await.unwrap(),
        };
        writers.spawn(write(handle, items + writer * 1_000_000, Arc::clone(&end)));
    }
    killed_and_called_again(&db, &format!("{how} 25"), server.uri()).await;
    assert!(A::buckets(&db).await.unwrap_err().is_capacity_mismatch());
    let _ = B::buckets(&db).await.unwrap();
    killed_and_called_again(&db, &format!("{how} 7"), server.uri()).await;
    end.store(true, Ordering::SeqCst);
    let written = writers.join_all().await;

    // A last call after all writers have ended.
    change::<C>(&db, true).await;
    let trades = is_sound::<C>(&db).await;
    is_dense(&trades).await;
    let mut expected: Vec<_> = (0..items).collect();
    for (first, last) in written {
        assert!(first < last, "a writer has stored nothing");
        expected.extend(first..last);
    }
    expected.sort_unstable();
    let mut read = BTreeMap::<i64, u32>::new();
    for bucket in documents(trades.collection()).await {
        for item in bucket.get_array("items").unwrap() {
            let n = item.as_document().unwrap().get_i64("n").unwrap();
            *read.entry(n).or_default() += 1;
        }
    }
    let twice = read.iter().find(|(_, times)| **times > 1);
    assert_eq!(twice, None, "G1: stored twice");
    assert!(
        read.into_keys().eq(expected),
        "G1: items are missing, or too many"
    );
}

#[bucket_testkit::test(multi_thread)]
async fn timed_while_eight_tasks_append() {
    up_and_down::<Timed10, Timed25, Timed7>("timed", 20_000).await;
}

#[bucket_testkit::test(multi_thread)]
async fn numbered_while_eight_tasks_append() {
    up_and_down::<Numbered10, Numbered25, Numbered7>("numbered", 5000).await;
}

#[bucket_testkit::test(multi_thread)]
async fn windowed_while_eight_tasks_append() {
    up_and_down::<Windowed10, Windowed25, Windowed7>("windowed", 5000).await;
}

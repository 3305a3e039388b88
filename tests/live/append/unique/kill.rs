//! Processes that send the same items are killed and started again: each item is stored once (G1, G6).
//! This test binary starts itself again as those processes.

use std::{
    env,
    process::{Child, Command, Stdio},
    time::Duration,
};

use bucket_runtime::mongodb::Database;
use rand::{Rng, seq::SliceRandom};

use crate::{
    append::unique::repeats::{Numbered7, Order, Seconds7, assert_each_once, order, stored},
    support::{
        database::{Live, at_rest, client, fresh, server},
        scale::scaled,
        tasks::JoinSet,
    },
};

const CALL: &str = "BUCKET_TESTS_UNIQUE";
const TASKS: usize = 16;

/// The other processes inherit the variable that scales the tests.
fn items() -> i64 {
    scaled(1000)
}

/// Not a test: the other processes run this, to the end or until they are killed.
#[bucket_testkit::test(multi_thread)]
#[ignore = "a process that another test starts"]
async fn the_process_that_sends() {
    let Ok(call) = env::var(CALL) else {
        return;
    };
    let (db, how) = call.split_once(' ').unwrap();
    let db = client().await.database(db);
    match how {
        "seconds" => send::<Seconds7>(&db).await,
        _ => send::<Numbered7>(&db).await,
    }
}

/// Sends all items from several tasks, each in its own order.
async fn send<T: Order>(db: &Database) {
    let orders = T::buckets(db).await.unwrap();
    let mut senders = JoinSet::new();
    for sender in 0..TASKS {
        let orders = orders.clone();
        senders.spawn(async move {
            let mut numbers: Vec<_> = (0..items()).collect();
            numbers.shuffle(&mut rand::rng());
            if sender % 8 == 0 {
                let load = numbers.into_iter().map(order::<T>).collect::<Vec<_>>();
                orders.append_many(load).await.unwrap();
                return;
            }
            for n in numbers {
                orders.append(&order::<T>(n)).await.unwrap();
            }
        });
    }
    senders.join_all().await;
}

fn start(db: &str, how: &str, uri: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([
            "append::unique::kill::the_process_that_sends",
            "--exact",
            "--ignored",
        ])
        .env(CALL, format!("{db} {how}"))
        .env("MONGODB_URI", uri)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

async fn killed<T: Order>(db: &Database, how: &'static str) {
    let orders = fresh::<T>(db).await;
    let uri = server().await.uri();
    let mut seen = 0;
    for _ in 0..4 {
        let mut child = start(db.name(), how, uri);
        // Kill it once it has stored some more items, unless it finishes first.
        let more = seen + rand::rng().random_range(1..items() as u64 / 4);
        while seen < more && child.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let keys = [orders.count(&0), orders.count(&1), orders.count(&2)];
            seen = 0;
            for count in keys {
                seen += count.await.unwrap();
            }
        }
        let _ = child.kill();
        child.wait().unwrap();
    }
    at_rest(orders.collection()).await;
    let twice = stored(&orders).await.into_iter().find(|(_, n)| *n > 1);
    assert_eq!(twice, None, "G1: stored twice");
    // Two processes at once, to the end.
    let mut last = [start(db.name(), how, uri), start(db.name(), how, uri)];
    for child in &mut last {
        let status = tokio::task::block_in_place(|| child.wait());
        assert!(status.unwrap().success());
    }
    assert_each_once(&orders, items()).await;
}

#[bucket_testkit::test(multi_thread)]
async fn g1_what_killed_processes_repeat_is_stored_once(db: Live) {
    killed::<Seconds7>(&db, "seconds").await;
    killed::<Numbered7>(&db, "numbered").await;
}

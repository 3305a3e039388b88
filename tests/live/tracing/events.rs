//! The span of a call tells its tries, and whether it may be stored.

use bucket_runtime::{Bucket, mongodb::bson::doc};
use futures_util::future::try_join_all;

use super::support::Spans;
use crate::support::{
    database::{Recorded, numbers_its_commands},
    fail_points::{fail, fail_no_more, fail_times, failing_server},
    zoo::ticks::{Numbered2, Tick},
};

/// The keys have a full bucket. Six handles read its number at the same time; the next bucket takes the
/// items of two of them.
#[bucket_testkit::test]
async fn each_try_is_told(Recorded(db, _): Recorded) {
    let (spans, _guard) = Spans::collect();
    let mut lost = 0;
    for key in 0..10 {
        let mut handles = Vec::new();
        for _ in 0..6 {
            handles.push(Numbered2::buckets(&db).await.unwrap());
        }
        let full = (0..2).map(|n| Numbered2::new(key, n));
        handles[0].append_many(full).await.unwrap();
        spans.take();
        let item = Numbered2::new(key, 2);
        let appends = (handles.iter()).map(|ticks| ticks.append(&item).into_future());
        try_join_all(appends).await.unwrap();
        for told in spans.take() {
            let tries = told.number("bucket.tries");
            assert!(tries <= told.number("bucket.round_trips"), "{told:?}");
            // A refusal shows that no bucket is open; the next one, that another handle was faster.
            lost += usize::from(tries > 2);
        }
    }
    assert!(lost > 0);
}

#[bucket_testkit::test]
async fn repetitions_and_doubts_are_told() {
    let Some(server) = failing_server().await else {
        return;
    };
    let db = server.database("told").await.unwrap();
    let ticks = Numbered2::buckets(&db).await.unwrap();
    ticks.append(&Numbered2::new(1, 1)).await.unwrap();
    let (spans, _guard) = Spans::collect();
    let broken = doc! { "failCommands": ["update", "bulkWrite"], "closeConnection": true };
    fail(&db, broken.clone()).await;
    ticks.append(&Numbered2::new(1, 2)).await.unwrap_err();
    fail_no_more(&db).await;
    let told = spans.one();
    assert_eq!(told.events, ["WARN may have been stored"]);
    assert_eq!(told.fields["error.type"], "Io");

    // The first time it is the question for the session's number that is sent again.
    for first in [10, 20] {
        let all: Vec<_> = (first..first + 6).map(|n| Numbered2::new(n, n)).collect();
        for tick in &all {
            ticks.append(tick).await.unwrap();
        }
        fail_times(&db, 1, broken.clone()).await;
        spans.take();
        ticks.append_many(all).await.unwrap();
        let tries = spans.one().number("bucket.tries");
        // Behind a `mongos` the driver repeats the command, without a word. Elsewhere, what is sent again may
        // meet the pool while the driver clears it of its connections, and is sent once more.
        match numbers_its_commands().await {
            true => assert!(tries > 1),
            false => assert_eq!(tries, 1),
        }
    }
}

//! A server that answers nothing, and how long a call goes on then.

use std::time::Instant;

use bucket_runtime::{Bucket, Buckets};
use bucket_testkit::ReplicaSet;

use crate::append::combine::support::{Mark, Numbered10};

/// A process that stands still keeps its connections, so only the driver's monitor finds out.
#[bucket_testkit::test(multi_thread)]
#[ignore = "waits for a minute; `cargo test --test live_write -- --ignored --nocapture error::silent` runs it"]
async fn a_call_to_a_silent_server_ends_by_itself_and_is_in_doubt() {
    let set = ReplicaSet::start(1).await.unwrap();
    let db = set.database("silent").await.unwrap();
    let marks: Buckets<Numbered10> = Numbered10::buckets(&db).await.unwrap();
    marks.append(&Numbered10::new(1, 0)).await.unwrap();
    let primary = set.primary().await.unwrap();
    primary.pause().unwrap();
    let began = Instant::now();
    let error = marks.append(&Numbered10::new(1, 1)).await.unwrap_err();
    println!(
        "an append ended after {:.1} s: {error}",
        began.elapsed().as_secs_f64()
    );
    primary.resume().unwrap();
    assert!(error.is_maybe_stored(), "{error}");
    while let Err(error) = marks.append(&Numbered10::new(2, 2)).await {
        println!("not yet: {error}");
    }
    let stored = marks.count(&1).await.unwrap();
    assert!((1..=2).contains(&stored), "{stored} items");
}

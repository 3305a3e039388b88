//! A handle that outlives the tokio runtime of its client.

use bucket_runtime::Bucket;
use bucket_testkit::Server;
use tokio::runtime::Runtime;

use crate::support::zoo::ticks::{Seconds10, Tick};

#[test]
fn an_error_says_that_the_runtime_has_ended_and_does_not_blame_the_network() {
    let first = Runtime::new().unwrap();
    let opened = first.block_on(async {
        let server = Server::start().await.unwrap();
        let db = server.database("outlived").await.unwrap();
        (Seconds10::buckets(&db).await.unwrap(), server)
    });
    drop(first);
    let (ticks, _server) = opened;
    let error = Runtime::new().unwrap().block_on(async {
        let tick = Seconds10::new(1, 0);
        ticks.append(&tick).await.unwrap_err()
    });
    assert!(!error.is_maybe_stored(), "{error}");
    let text = error.to_string();
    assert!(text.contains("runtime"), "{text}");
    assert!(!text.contains("network"), "{text}");
}

//! Whatever code a server breaks a write off with, no call says that nothing was stored.

use bucket_runtime::{
    Error,
    mongodb::bson::{Document, doc},
};
use bucket_testkit::Server;
use futures_util::future::join_all;

use crate::{
    error::doubt::support::{CALLS, Handles, fill},
    support::{
        fail_points::{fail, fail_no_more, failing_server},
        scale::is_long,
    },
};

/// A code of each category: a network error, an exceeded time, an interruption, a write concern, an election, and a server
/// that shuts down. `error/code.rs` has a row for each code.
const CODES: [i32; 7] = [6, 50, 64, 189, 262, 11600, 11601];

const COMMANDS: [&str; 7] = [
    "update",
    "insert",
    "delete",
    "findAndModify",
    "bulkWrite",
    "create",
    "createIndexes",
];

/// Whether the quick form leaves a code out: the driver takes the server for shut down, and waits before it looks for it
/// again, ten seconds in all.
fn is_left_out(code: i32) -> bool {
    [91, 11600].contains(&code) && !is_long()
}

/// The results of one call of each kind while all commands fail this way. The calls run at the same
/// time, since the driver pauses after some of the codes.
async fn results(
    on: &[Handles],
    n: i64,
    failure: Document,
) -> Vec<(&'static str, Result<(), Error>)> {
    let mut data = doc! { "failCommands": COMMANDS.to_vec() };
    data.extend(failure);
    fail(&on[0].db, data).await;
    let calls = CALLS.into_iter().zip(on);
    let calls = calls.map(|((name, call), on)| async move { (name, call(on, n).await) });
    let results = join_all(calls).await;
    fail_no_more(&on[0].db).await;
    results
}

/// Handles for each call, with clients that share no connections: some codes make the driver close them
/// all.
async fn opened(server: &Server, db: &str) -> Vec<Handles> {
    let mut all = Vec::new();
    for _ in CALLS {
        let client = server.client().await.unwrap();
        all.push(Handles::new(&client.database(db)).await);
    }
    fill(&all[0]).await;
    all
}

/// Nobody knows how far a command came before it was broken off.
#[bucket_testkit::test]
async fn a_command_that_was_broken_off_is_in_doubt_whichever_code_it_ends_with() {
    let Some(server) = failing_server().await else {
        return;
    };
    let on = opened(&server, "doubt_codes").await;
    for (code, n) in CODES.into_iter().zip(0..) {
        if is_left_out(code) {
            continue;
        }
        for (name, result) in results(&on, n, doc! { "errorCode": code }).await {
            let error = result.expect_err(name);
            assert!(error.is_maybe_stored(), "{name}, {code}: {error}");
        }
    }
}

/// The server carries the command out, but too few members acknowledge it.
#[bucket_testkit::test]
async fn what_is_answered_with_a_write_concern_error_is_in_doubt() {
    let Some(server) = failing_server().await else {
        return;
    };
    let on = opened(&server, "doubt_concern").await;
    for (code, n) in [91, 100].into_iter().zip(1000..) {
        if is_left_out(code) {
            continue;
        }
        let concern = doc! { "code": code, "errmsg": "it is not known" };
        for (name, result) in results(&on, n, doc! { "writeConcernError": concern }).await {
            // The server waits for no member when it creates an index that exists.
            if let Err(error) = result {
                assert!(error.is_maybe_stored(), "{name}, {code}: {error}");
            } else {
                assert_eq!(name, "open", "{code}");
            }
        }
    }
}

/// A command that was refused is still reported as not stored.
#[bucket_testkit::test]
async fn a_command_that_was_refused_is_in_no_doubt() {
    let Some(server) = failing_server().await else {
        return;
    };
    let on = opened(&server, "doubt_refused").await;
    let refusals = [
        doc! { "errorCode": 13 },
        doc! { "errorCode": 91, "errorLabels": ["NoWritesPerformed"] },
    ];
    for (refusal, n) in refusals.into_iter().zip(0..) {
        if refusal.get_i32("errorCode").is_ok_and(is_left_out) {
            continue;
        }
        for (name, result) in results(&on, n, refusal.clone()).await {
            let error = result.expect_err(name);
            assert!(!error.is_maybe_stored(), "{name}, {refusal}: {error}");
        }
    }
}

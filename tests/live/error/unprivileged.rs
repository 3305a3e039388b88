//! How opening a collection treats a user who lacks a privilege, with answers from MongoDB's own fail
//! points.

use bucket_runtime::{
    Bucket,
    mongodb::{Database, bson::doc},
};
use bucket_testkit::Server;

use crate::support::{fail_points::fail_times, zoo::ticks::Seconds10};

/// A server with a database through it, or through one `mongos`, since each has its own fail points; `None` if it is the
/// user's own server.
async fn opened(name: &str) -> Option<(Server, Database)> {
    let options = ["--setParameter", "enableTestCommands=1"];
    let server = Server::start_with(&options).await.unwrap();
    let client = match server.cluster() {
        Some(cluster) => cluster.mongos()[0].client().await,
        None => server.client().await,
    };
    let db = client.unwrap().database(name);
    server.is_throw_away().then_some((server, db))
}

/// Makes the next command of this name fail with this code.
async fn refuse(db: &Database, name: &str, code: i32) {
    fail_times(db, 1, doc! { "failCommands": [name], "errorCode": code }).await;
}

/// Behind a `mongos`, opening sends the indexes each time. A user who may only read does not need that.
#[bucket_testkit::test]
async fn a_user_who_may_not_make_indexes_opens_a_collection_that_has_them() {
    let Some((_server, db)) = opened("read_only").await else {
        return;
    };
    refuse(&db, "createIndexes", 13).await;
    let error = Seconds10::buckets(&db).await.unwrap_err();
    assert!(!error.is_unsupported(), "{error}");
    Seconds10::buckets(&db).await.unwrap();
    refuse(&db, "createIndexes", 13).await;
    Seconds10::buckets(&db).await.unwrap();
}

/// Amazon DocumentDB takes no `hint` in an update, and says so by such a code. (Its own code, 303,
/// makes a fail point close the connection.)
#[bucket_testkit::test]
async fn a_server_without_hinted_updates_is_refused_at_opening() {
    let Some((_server, db)) = opened("no_hint").await else {
        return;
    };
    for code in [9, 115, 238] {
        refuse(&db, "update", code).await;
        let opened = Seconds10::buckets(&db).await;
        let error = opened.expect_err(&format!("{code}"));
        assert!(error.is_unsupported(), "{code}: {error}");
    }
    Seconds10::buckets(&db).await.unwrap();
}

//! A server whose commands can be made to fail.

use bucket_runtime::mongodb::{
    Database,
    bson::{Document, doc},
};
use bucket_testkit::Server;

/// The test's own server, which has fail points. `None` if it is the user's, or a cluster, where each
/// `mongos` and each shard has its own fail points.
pub(crate) async fn failing_server() -> Option<Server> {
    let options = ["--setParameter", "enableTestCommands=1"];
    let server = Server::start_with(&options).await.unwrap();
    let is_ours = server.is_throw_away() && server.cluster().is_none();
    is_ours.then_some(server)
}

/// Makes the commands that `data` names fail.
pub(crate) async fn fail(db: &Database, data: Document) {
    let command = doc! { "configureFailPoint": "failCommand", "mode": "alwaysOn", "data": data };
    let admin = db.client().database("admin");
    admin.run_command(command).await.unwrap();
}

/// Makes only the next commands fail, this many of those that `data` names.
pub(crate) async fn fail_times(db: &Database, times: i32, data: Document) {
    let mode = doc! { "times": times };
    let command = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
    let admin = db.client().database("admin");
    admin.run_command(command).await.unwrap();
}

pub(crate) async fn fail_no_more(db: &Database) {
    let command = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    let admin = db.client().database("admin");
    admin.run_command(command).await.unwrap();
}

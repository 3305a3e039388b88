//! The names in the extract from the server's list of codes are the server's own.

use bucket_runtime::mongodb::{bson::doc, error::ErrorKind};
use bucket_testkit::Server;

/// Servers before 8.2 have other names for some.
#[bucket_testkit::test]
#[ignore = "needs 8.2: BUCKET_TESTKIT_SERVER=8.2 cargo test --test live_maintain -- --ignored error_codes"]
async fn each_code_has_the_name_that_the_server_gives_it() {
    let options = ["--setParameter", "enableTestCommands=1"];
    let server = Server::start_with(&options).await.unwrap();
    let admin = server.database("admin").await.unwrap();
    let list = include_str!("../../../bucket-core/src/error/error_codes.txt");
    let mut compared = 0;
    for row in list.lines().filter(|row| !row.starts_with('#')) {
        let mut words = row.split(' ');
        let number: i32 = words.next().unwrap().parse().unwrap();
        let name = words.next().unwrap();
        let data = doc! { "failCommands": ["ping"], "errorCode": number };
        let fail =
            doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": data };
        admin.run_command(fail).await.unwrap();
        let error = admin.run_command(doc! { "ping": 1 }).await.unwrap_err();
        // After some codes the server closes the connection instead of answering.
        let ErrorKind::Command(error) = &*error.kind else {
            continue;
        };
        let given = error.code_name.trim_start_matches("OBSOLETE_");
        // The list is newer than the server, which does not know each of them.
        if !given.starts_with("Location") {
            assert_eq!(given, name, "{number}");
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared}");
}

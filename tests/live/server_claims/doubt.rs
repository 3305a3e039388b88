//! Assumptions of the library about the server when it judges failed writes.

use bucket_runtime::mongodb::{
    Database,
    bson::{Document, doc},
    error::{Error, ErrorKind},
};

use crate::support::database::{Live, documents, is_cluster};

/// Two statements that update a document each; the second takes longer than its time limit.
async fn two_statements(db: &Database, ordered: bool) -> Result<Document, Error> {
    let marks = db.collection::<Document>("marks");
    let both = [doc! { "_id": 1 }, doc! { "_id": 2 }];
    marks.insert_many(both).await.unwrap();
    let set = doc! { "$set": { "done": true } };
    let slowly = doc! { "_id": 2, "$where": "sleep(60000) || true" };
    db.run_command(doc! {
        "update": "marks",
        "updates": [{ "q": { "_id": 1 }, "u": &set }, { "q": slowly, "u": &set }],
        "ordered": ordered,
        "maxTimeMS": 3000,
    })
    .await
}

/// The server reports an interruption by failing the command, not as a statement's error. So a
/// statement's error is a refusal (`many.rs`), and a command's error proves nothing about its statements.
#[bucket_testkit::test]
async fn an_interrupted_command_fails_as_a_whole_and_has_carried_out_what_came_before(db: Live) {
    // A `mongos` turns it into a statement's error.
    if is_cluster().await {
        return;
    }
    for ordered in [true, false] {
        db.drop().await.unwrap();
        let error = two_statements(&db, ordered).await.unwrap_err();
        assert!(
            matches!(&*error.kind, ErrorKind::Command(error) if error.code == 50),
            "{error}"
        );
        let done = documents(&db.collection::<Document>("marks")).await;
        assert!(done[0].contains_key("done") && !done[1].contains_key("done"));
        // The driver keeps the reply, which may also hold a write concern error.
        assert!(error.server_response().is_some(), "{error}");
    }
}

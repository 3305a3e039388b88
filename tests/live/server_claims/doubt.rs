//! What the judgement of failed writes takes for granted about the server.

use bucket_runtime::mongodb::{
    Database,
    bson::{Document, doc},
    error::{Error, ErrorKind},
};

use crate::support::database::{database, documents, is_cluster};

/// An update of two documents by two statements, of which the second one takes longer than it may.
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
        "maxTimeMS": 1000,
    })
    .await
}

/// The server tells of an interruption by failing the command, not by an error of the statement. So the
/// error of a statement is its refusal, and that of a command proves nothing of its statements.
#[tokio::test]
async fn an_interrupted_command_fails_as_a_whole_and_has_carried_out_what_came_before() {
    // A `mongos` makes a statement's error of it.
    if is_cluster().await {
        return;
    }
    for ordered in [true, false] {
        let db = database("claim_interrupted").await;
        let error = two_statements(&db, ordered).await.unwrap_err();
        assert!(
            matches!(&*error.kind, ErrorKind::Command(error) if error.code == 50),
            "{error}"
        );
        let done = documents(&db.collection::<Document>("marks")).await;
        assert!(done[0].contains_key("done") && !done[1].contains_key("done"));
        // The driver keeps the reply, in which a write concern error may stand beside.
        assert!(error.server_response().is_some(), "{error}");
    }
}

/// By contrast, what a statement is refused for stands with the statement, and others go on.
#[tokio::test]
async fn a_refused_statement_fails_by_itself() {
    let db = database("claim_refused").await;
    let marks = db.collection::<Document>("marks");
    marks.insert_one(doc! { "_id": 1 }).await.unwrap();
    let reply = db
        .run_command(
            doc! { "insert": "marks", "documents": [{ "_id": 1 }, { "_id": 2 }], "ordered": false },
        )
        .await
        .unwrap();
    let refused = reply.get_array("writeErrors").unwrap();
    assert_eq!(refused.len(), 1, "{reply}");
    assert_eq!(reply.get_i32("n"), Ok(1));
}

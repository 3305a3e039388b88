//! The text of an error: one line, with the code's name, the collection and the key.

use std::{error::Error as _, time::Duration};

use bucket_runtime::{
    Bucket, Error,
    mongodb::{
        bson::{Document, doc},
        error::Error as DriverError,
        options::{Acknowledgment, CollectionOptions, WriteConcern},
    },
};

use crate::{
    error::doubt::support::{Handles, Mark},
    support::{
        assert_refused,
        database::{Live, is_cluster},
        fail_points::{fail, fail_no_more, failing_server},
    },
};

/// Asserts that the text is one line for people, without the driver's details.
fn assert_readable(text: &str) {
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.len() < 1000, "{text}");
    for dump in ["RawDocumentBuf", "Some(", "labels:", "Tree:", "{ code"] {
        assert!(!text.contains(dump), "{dump}: {text}");
    }
}

pub(crate) fn assert_names(error: &Error, names: &[&str]) {
    assert_readable(&error.to_string());
    assert_readable(&format!("{error:?}"));
    let text = error.to_string();
    for name in names {
        assert!(text.contains(name), "{name}: {text}");
    }
    assert!(error.source().unwrap().is::<DriverError>(), "{error}");
}

#[bucket_testkit::test]
async fn a_write_that_was_broken_off_names_its_cause_in_one_line() {
    let Some(server) = failing_server().await else {
        return;
    };
    let on = Handles::new(&server.database("error_text").await.unwrap()).await;
    let commands = ["update", "insert", "delete", "findAndModify", "bulkWrite"].to_vec();
    let data = doc! { "failCommands": commands, "errorCode": 11601 };
    fail(&on.db, data).await;
    let names = [
        "error_text.marks, key \"5\": ",
        "check before you repeat it",
        "Interrupted (11601): ",
    ];
    let error = on.combined.append(&Mark::new(5, 1)).await.unwrap_err();
    assert_names(&error, &names);
    let error = on.alone.append(&Mark::new(5, 1)).await.unwrap_err();
    assert_names(&error, &names);
    let many = on.alone.append_many([Mark::new(5, 1)]).await.unwrap_err();
    assert_readable(&many.to_string());
    assert_names(&many.failed()[0].error, &names);
    assert_names(&on.alone.remove_key(&5).await.unwrap_err(), &names);
    let error = on.books.push(&7, 1).await.unwrap_err();
    let names = ["error_text.books, key \"7\": ", "Interrupted (11601)"];
    assert_names(&error, &names);
    fail_no_more(&on.db).await;
}

#[bucket_testkit::test]
async fn a_refused_statement_names_its_code_and_no_query(db: Live) {
    // A `mongos` words the answers of shards differently.
    if is_cluster().await {
        return;
    }
    let on = Handles::new(&db).await;
    let unique = doc! {
        "createIndexes": "marks",
        "indexes": [{ "key": { "items.n": 1 }, "name": "mine", "unique": true }],
    };
    db.run_command(unique).await.unwrap();
    on.alone.append(&Mark::new(1, 1)).await.unwrap();
    for handle in [&on.alone, &on.combined] {
        let error = handle.append(&Mark::new(2, 1)).await.unwrap_err();
        assert_refused(&error, Error::is_duplicate);
        let code = "DuplicateKey (11000): ";
        assert_names(&error, &["marks, key \"2\": ", code, "index: mine"]);
    }

    // The planner's error holds the whole query.
    let marks = on.alone.collection().clone();
    marks.drop_index("bucket_open").await.unwrap();
    let names = ["marks, key \"3\": ", "BadValue (2): ", "hint provided"];
    let error = on.alone.append(&Mark::new(3, 3)).await.unwrap_err();
    assert_names(&error, &names);
}

#[bucket_testkit::test]
async fn a_write_concern_that_is_not_reached_names_its_code(db: Live) {
    // A `mongos` words the answers of shards differently.
    if is_cluster().await {
        return;
    }
    let marks = Handles::new(&db).await.alone.collection().clone();
    let concern = WriteConcern::builder()
        .w(Acknowledgment::Nodes(7))
        .w_timeout(Duration::from_millis(10))
        .build();
    let options = CollectionOptions::builder().write_concern(concern).build();
    let unreachable = db.collection_with_options::<Document>(marks.name(), options);
    let marks = Mark::buckets_in(unreachable).await.unwrap();
    let error = marks.append(&Mark::new(1, 1)).await.unwrap_err();
    assert!(error.is_maybe_stored(), "{error}");
    let names = ["marks, key \"1\": ", "the write concern was not reached: "];
    assert_names(&error, &names);
}

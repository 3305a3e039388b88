//! A primary that gives up midway, simulated by the server's own fail points: it refuses a command
//! before it begins, or carries the command out and answers that it was interrupted.

use bucket_runtime::mongodb::{
    Database,
    bson::{Document, doc},
};
use bucket_testkit::Server;

use crate::{
    append::combine::support::{
        Mark, NOON, Numbered10, Seconds10, assert_stored, at_rest, together,
    },
    support::{
        database::{fresh, numbers_its_commands},
        fail_points::{fail_no_more, fail_times},
    },
};

const N: i64 = 120;

/// The fate of the next commands: ours of several statements, and the driver's own.
fn failures() -> Vec<Document> {
    let commands = vec!["update", "bulkWrite", "insert"];
    let labels = vec!["RetryableWriteError"];
    let mut failures = vec![
        doc! { "errorCode": 11602, "errorLabels": &labels },
        doc! { "errorLabels": &labels, "writeConcernError": { "code": 91, "errmsg": "it ends" } },
    ];
    for failure in &mut failures {
        failure.insert("failCommands", &commands);
    }
    failures
}

/// Behind a `mongos` the driver repeats the commands, and returns the first error if a statement of the
/// repetition is refused: the command's items are then in doubt.
async fn interrupted<T: Mark>(db: &Database) {
    let may_doubt = !numbers_its_commands().await;
    for failure in failures() {
        let marks = fresh::<T>(db).await;
        let mut all = Vec::new();
        let mut in_doubt = Vec::new();
        for (first, keys) in [(0, 1), (N, N)] {
            fail_times(db, 1, failure.clone()).await;
            let items = (first..first + N).map(|n| T::new(n % keys, n).at(NOON + n));
            for (n, result) in (first..).zip(together(&marks, items).await) {
                match result {
                    Ok(_) => all.push((n % keys, n)),
                    Err(error) => {
                        let is_doubt = may_doubt && error.is_maybe_stored();
                        assert!(is_doubt, "{failure}: {error}");
                        in_doubt.push((n % keys, n));
                    }
                }
            }
        }
        fail_times(db, 1, failure.clone()).await;
        let items = (1000..1000 + N).map(|n| T::new(n % 5, n).at(NOON + n * 999));
        all.extend((1000..1000 + N).map(|n| (n % 5, n)));
        if let Err(error) = marks.append_many(items).await {
            assert!(may_doubt, "{failure}: {error}");
            for failed in error.failed() {
                let item = (failed.item.k(), failed.item.n());
                all.retain(|stored| *stored != item);
                // Any other item was not sent, and must not be there.
                if failed.error.is_maybe_stored() {
                    in_doubt.push(item);
                }
            }
        }
        let found = at_rest(&marks).await;
        in_doubt.retain(|(k, n)| found.get(k).is_some_and(|ns| ns.contains(n)));
        all.extend(in_doubt);
        assert_stored(&marks, all).await;

        // Twice in a row: each item is in doubt, and stored once or not at all.
        let items = (5000..5000 + N).map(|n| T::new(n, n));
        fail_times(db, 2, failure.clone()).await;
        let results = together(&marks, items).await;
        fail_no_more(db).await;
        for error in results.into_iter().filter_map(Result::err) {
            assert!(error.is_maybe_stored(), "{failure}: {error}");
        }
        let mut ns = Vec::from_iter(at_rest(&marks).await.into_values().flatten());
        ns.sort_unstable();
        let twice = ns.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "{failure}: stored twice");
    }
}

#[bucket_testkit::test]
async fn an_interrupted_command_is_repeated_and_carried_out_once() {
    let options = ["--setParameter", "enableTestCommands=1"];
    let server = Server::start_with(&options).await.unwrap();
    if !server.is_throw_away() {
        return;
    }
    let db = server.database("combine_interrupted").await.unwrap();
    interrupted::<Seconds10>(&db).await;
    interrupted::<Numbered10>(&db).await;
}

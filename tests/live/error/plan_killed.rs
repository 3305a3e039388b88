//! The server ends a plan whose index was dropped, or changed by the first array in it (QueryPlanKilled):
//! what is safe to repeat is repeated, and what is not is in doubt.

use std::collections::BTreeSet;

use bucket_runtime::{
    Bucket,
    mongodb::{Database, bson::doc},
};
use futures_util::TryStreamExt;

use crate::{
    error::doubt::support::{CALLS, Handles, Mark, fill},
    support::{
        assert_sound,
        database::items,
        fail_points::{fail_times, failing_server},
    },
};

const QUERY_PLAN_KILLED: i32 = 175;

/// Makes the next of these commands fail once.
async fn kill_plan(db: &Database, commands: &[&str]) {
    let data = doc! { "failCommands": commands.to_vec(), "errorCode": QUERY_PLAN_KILLED };
    fail_times(db, 1, data).await;
}

#[bucket_testkit::test]
async fn a_read_is_sent_again() {
    let Some(server) = failing_server().await else {
        return;
    };
    let on = Handles::new(&server.database("plan_killed").await.unwrap()).await;
    fill(&on).await;
    let killed = || kill_plan(&on.db, &["find", "aggregate"]);
    let before = items(&on.alone, &9).await;
    killed().await;
    assert_eq!(items(&on.alone, &9).await, before);
    killed().await;
    assert!(on.alone.page(&9, 2).await.unwrap().is_some());
    killed().await;
    let seventh = Mark::FIELDS.n.eq(7);
    let found = on.alone.items(&9).filter(seventh).await.unwrap();
    assert_eq!(found.try_collect::<Vec<_>>().await.unwrap().len(), 1);
    killed().await;
    assert!(on.books.get_all(&2).await.unwrap().is_some());
    killed().await;
    assert_sound(&on.alone).await;
}

/// Each call stores its items once, and says that nothing is stored only where nothing is.
#[bucket_testkit::test]
async fn a_write_is_sent_again_or_in_doubt() {
    let Some(server) = failing_server().await else {
        return;
    };
    let on = Handles::new(&server.database("plan_killed_writes").await.unwrap()).await;
    fill(&on).await;
    let writes = [
        "update",
        "bulkWrite",
        "findAndModify",
        "delete",
        "insert",
        "find",
        "aggregate",
    ];
    for (name, call) in CALLS {
        kill_plan(&on.db, &writes).await;
        match call(&on, 50).await {
            Ok(()) => println!("{name}: sent again"),
            // From 8.2 on the server has not carried out such an update.
            Err(error) if name == "append in a session" && !error.is_maybe_stored() => {
                assert_eq!(items(&on.alone, &3).await, []);
            }
            Err(error) => assert!(error.is_maybe_stored(), "{name}: {error}"),
        }
    }
    for key in [1, 2, 3, 4] {
        let found = items(&on.alone, &key).await;
        let once = BTreeSet::from_iter(found.iter().map(|mark| mark.n));
        assert_eq!(once.len(), found.len(), "stored twice");
    }
    assert_sound(&on.alone).await;
}

/// The driver resumes only after errors that the server labels; MongoDB 9.0 may send this one after an
/// election.
#[bucket_testkit::test]
async fn a_watch_goes_on_after_an_election_without_a_label() {
    let Some(server) = failing_server().await else {
        return;
    };
    let on = Handles::new(&server.database("watch_elected").await.unwrap()).await;
    let mut watch = on.alone.watch(&1).await.unwrap();
    on.alone.append(&Mark::new(1, 1)).await.unwrap();
    assert_eq!(watch.try_next().await.unwrap(), Some(Mark::new(1, 1)));
    let no_labels: [&str; 0] = [];
    let elected = doc! {
        "failCommands": ["getMore"], "errorCode": 11602, "errorLabels": no_labels.to_vec(),
    };
    fail_times(&on.db, 1, elected).await;
    let next = async {
        // The write goes through another connection: its pool is not cleared by the watch's error.
        let other = server.client().await.unwrap().database(on.db.name());
        let other = Mark::buckets(&other).await.unwrap();
        other.append(&Mark::new(1, 2)).await.unwrap();
    };
    let (next, ()) = futures_util::future::join(watch.try_next(), next).await;
    assert_eq!(next.unwrap(), Some(Mark::new(1, 2)));
}

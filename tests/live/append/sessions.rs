//! Sessions and transactions: every call takes part in them.

use bucket_runtime::{
    Appended, Buckets, Page, Result,
    mongodb::{
        Client, ClientSession, Database,
        bson::{DateTime, doc},
    },
};
use futures_util::TryStreamExt;

use crate::support::{
    database::{Live, Recorded, fresh, items},
    zoo::ticks::{Numbered3, Seconds3, Tick},
};

pub(crate) async fn opened<T: Tick>(db: &Database) -> (Buckets<T>, ClientSession) {
    let steps = fresh::<T>(db).await;
    let session = client(&steps).start_session().await.unwrap();
    (steps, session)
}

pub(crate) fn client<T: Tick>(steps: &Buckets<T>) -> Client {
    steps.collection().client().clone()
}

pub(crate) async fn read<T: Tick>(steps: &Buckets<T>, k: i64) -> Vec<i64> {
    items(steps, &k).await.iter().map(Tick::n).collect()
}

pub(crate) async fn append_in<T: Tick>(
    session: &mut ClientSession,
    steps: &Buckets<T>,
    k: i64,
    n: i64,
) -> Result<Appended> {
    steps.append(&T::new(k, n)).session(session).await
}

async fn every_call<T: Tick>(Recorded(db, record): &Recorded) {
    let steps = fresh::<T>(db).await;
    let mut session = client(&steps).start_session().await.unwrap();
    let session = &mut session;
    record.take();
    for n in 0..7 {
        append_in(session, &steps, 5, n).await.unwrap();
    }
    let first = steps.page(&5, 1).session(&mut *session).await.unwrap();
    let last = steps.latest(&5).session(&mut *session).await.unwrap();
    let ns = |page: Option<Page<T>>| Vec::from_iter(page.unwrap().items.iter().map(Tick::n));
    assert_eq!([first, last].map(ns), [vec![0, 1, 2], vec![6]]);
    assert_eq!(steps.count(&5).session(&mut *session).await.unwrap(), 7);
    let count = steps.page_count(&5).session(&mut *session).await;
    assert_eq!(count.unwrap(), 3);
    let pages = steps.pages(&5).session(&mut *session).await.unwrap();
    assert_eq!(pages.try_collect::<Vec<_>>().await.unwrap().len(), 3);
    let items = steps.items(&5).session(&mut *session).await.unwrap();
    assert_eq!(items.try_collect::<Vec<_>>().await.unwrap().len(), 7);

    let commands = record.take();
    assert!(commands.len() >= 13);
    for command in commands {
        let id = command.get_document("lsid").unwrap();
        assert_eq!(id, session.id(), "{command}");
    }
}

/// Without a session from the caller the driver uses any; so this test compares which session it is.
#[bucket_testkit::test]
async fn every_call_with_a_session_sends_all_its_commands_in_that_session(on: Recorded) {
    every_call::<Seconds3>(&on).await;
    every_call::<Numbered3>(&on).await;
}

/// More pages than the first batch holds (101): the later ones come from the same snapshot.
#[bucket_testkit::test]
async fn a_stream_in_a_transaction_shows_one_moment(db: Live) {
    let (steps, mut session) = opened::<Numbered3>(&db).await;
    let bucket = |n: i64| {
        let items = vec![doc! { "at": DateTime::from_millis(0), "n": n }; 3];
        doc! { "_id": format!("5_{n:010}"), "k": 5_i64, "count": 3, "items": items }
    };
    steps
        .collection()
        .insert_many((0..250).map(bucket))
        .await
        .unwrap();
    session.start_transaction().await.unwrap();
    let mut stream = steps.items(&5).session(&mut session).await.unwrap();
    assert_eq!(stream.try_next().await.unwrap().unwrap().n(), 0);
    steps.append(&Numbered3::new(5, 250)).await.unwrap();
    let rest: Vec<_> = stream.try_collect().await.unwrap();
    assert_eq!(rest.len(), 749);
    assert_eq!(steps.count(&5).session(&mut session).await.unwrap(), 750);

    // A stream that is dropped midway leaves the transaction usable.
    let mut pages = steps.pages(&5).session(&mut session).await.unwrap();
    assert!(pages.try_next().await.unwrap().is_some());
    drop(pages);
    append_in(&mut session, &steps, 6, 0).await.unwrap();
    session.commit_transaction().await.unwrap();
    assert_eq!(steps.count(&5).await.unwrap(), 751);
    assert_eq!(read(&steps, 6).await, [0]);
}

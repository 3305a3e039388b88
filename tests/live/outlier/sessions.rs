//! Sessions and transactions: every call takes part in them, and all its steps belong together.

use bucket_runtime::{
    Outlier, Outliers,
    mongodb::{ClientSession, Database, bson::doc, error::TRANSIENT_TRANSACTION_ERROR},
};
use futures_util::TryStreamExt;

use crate::{
    outlier::support::{Book, Book3x2, assert_in_order, dense, fresh, reads_agree, stored},
    support::{
        database::{Live, Recorded, documents},
        tasks::JoinSet,
    },
};

async fn opened(db: &Database) -> (Outliers<Book3x2>, ClientSession) {
    let books = fresh::<Book3x2>(db).await;
    // The server creates no collection in a transaction across shards.
    db.create_collection(Book3x2::SPEC.collection)
        .await
        .unwrap();
    let session = books.collection().client().start_session().await.unwrap();
    (books, session)
}

/// Every call, with the expected answers.
async fn every_call(books: &Outliers<Book3x2>, session: &mut ClientSession) {
    for (id, buyers) in [(1, 1), (7, 6)] {
        let book = Book3x2::new(id, (0..buyers).collect());
        let inserted = books.insert(&book).session(&mut *session);
        inserted.await.unwrap();
    }
    books.push(&1, 1).session(&mut *session).await.unwrap();
    books.push(&7, 6).session(&mut *session).await.unwrap();
    let many = books.push_many(&1, 2..8).session(&mut *session);
    many.await.unwrap();
    let parent = books.get(&1).session(&mut *session).await.unwrap().unwrap();
    assert_eq!(
        (parent.document, parent.has_extras),
        (Book3x2::new(1, vec![0, 1, 2]), true)
    );
    let all = books.get_all(&1).session(&mut *session).await.unwrap();
    assert_eq!(all, Some(Book3x2::new(1, (0..8).collect())));
    let items = books.items(&7).session(&mut *session).await.unwrap();
    assert_eq!(
        items.try_collect::<Vec<_>>().await.unwrap(),
        (0..7).collect::<Vec<_>>()
    );
    let newest = || books.items(&7).newest_first();
    let page = newest().session(&mut *session).page_of_items(3);
    let page = page.await.unwrap();
    assert_eq!(page.items, [6, 5, 4]);
    let rest = newest().session(&mut *session).page_of_items(9);
    let rest = rest.after(&page.next.unwrap()).await.unwrap();
    assert_eq!(rest.items, [3, 2, 1, 0]);
    let extras = books.extras(&1).session(&mut *session).await.unwrap();
    assert_eq!(extras.try_collect::<Vec<_>>().await.unwrap().len(), 3);
    assert_eq!(books.count(&1).session(&mut *session).await.unwrap(), 8);
    let found = books.find(doc! {}).session(&mut *session).await.unwrap();
    assert_eq!(found.try_collect::<Vec<_>>().await.unwrap().len(), 2);
    for value in [3, 4] {
        let equal = Book3x2::FIELDS.buyers.item().eq(value);
        let removed = books.remove_items(&1, equal).session(&mut *session);
        assert_eq!(removed.await.unwrap(), 1);
    }
    assert!(books.delete(&7).session(&mut *session).await.unwrap());
    assert_eq!(books.count(&1).session(&mut *session).await.unwrap(), 6);
    let error = books.push(&7, 1).session(&mut *session).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

#[bucket_testkit::test]
async fn every_call_is_sent_in_the_session(Recorded(db, record): Recorded) {
    let books = Book3x2::outliers(&db).await.unwrap();
    let mut session = books.collection().client().start_session().await.unwrap();
    record.take();
    every_call(&books, &mut session).await;
    let commands = record.take();
    assert!(commands.len() >= 20, "{}", commands.len());
    let id = session.id();
    for command in commands {
        assert_eq!(command.get_document("lsid").unwrap(), id, "{command}");
    }
}

#[bucket_testkit::test]
async fn every_call_belongs_to_the_transaction(db: Live) {
    let (books, mut session) = opened(&db).await;
    session.start_transaction().await.unwrap();
    every_call(&books, &mut session).await;
    let nothing_is_seen = async || {
        assert_eq!(documents(books.collection()).await, []);
        assert_eq!(documents(books.extras_collection()).await, []);
    };
    nothing_is_seen().await;
    session.abort_transaction().await.unwrap();
    nothing_is_seen().await;

    session.start_transaction().await.unwrap();
    every_call(&books, &mut session).await;
    session.commit_transaction().await.unwrap();
    let parents = stored(&books).await;
    assert_eq!(parents.keys().collect::<Vec<_>>(), [&1]);
    assert_eq!(parents[&1].all(), [0, 1, 2, 5, 6, 7]);
    reads_agree(&books, 1, &parents[&1]).await;
}

/// Knowledge of a handle from an aborted transaction must not mislead it.
#[bucket_testkit::test]
async fn pushes_after_an_aborted_transaction_keep_all_guarantees(db: Live) {
    let (books, mut session) = opened(&db).await;
    for begin in 0..7 {
        let book = Book3x2::new(7, (0..begin).collect());
        books.insert(&book).await.unwrap();
        let both = async || {
            let parents = documents(books.collection()).await;
            (parents, documents(books.extras_collection()).await)
        };
        let before = both().await;
        session.start_transaction().await.unwrap();
        let many = books.push_many(&7, 100..110).session(&mut session);
        many.await.unwrap();
        books.push(&7, 110).session(&mut session).await.unwrap();
        session.abort_transaction().await.unwrap();
        assert_eq!(both().await, before);
        for value in begin..12 {
            books.push(&7, value).await.unwrap();
            let stored = dense(&books).await.remove(&7).unwrap();
            assert_eq!(stored.all(), (0..=value).collect::<Vec<_>>());
        }
        books.delete(&7).await.unwrap();
    }
}

/// 8 tasks push across the threshold in their own transactions, and retry those that lose a race in the
/// driver's style, beside 4 tasks that push without.
#[bucket_testkit::test(multi_thread)]
async fn transactions_that_lose_a_race_run_again(db: Live) {
    let (books, _) = opened(&db).await;
    books.insert(&Book3x2::new(7, vec![])).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..12_i64 {
        let books = books.clone();
        writers.spawn(async move {
            let mut session = books.collection().client().start_session().await.unwrap();
            for n in 0..10 {
                let value = writer * 100 + n;
                if writer >= 8 {
                    books.push(&7, value).await.unwrap();
                    continue;
                }
                loop {
                    session.start_transaction().await.unwrap();
                    let pushed = books.push(&7, value).session(&mut session).await;
                    let done = match pushed {
                        Ok(_) => session.commit_transaction().await,
                        Err(error) => Err(error.into()),
                    };
                    match done {
                        Ok(()) => break,
                        Err(error) => {
                            let again = error.contains_label(TRANSIENT_TRANSACTION_ERROR);
                            assert!(again, "{error}");
                            let _ = session.abort_transaction().await;
                            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                        }
                    }
                }
            }
        });
    }
    writers.join_all().await;
    let stored = dense(&books).await.remove(&7).unwrap();
    assert_in_order(&stored.all(), |value| value / 100);
    let mut all = stored.all();
    all.sort_unstable();
    let expected = (0..12).flat_map(|writer| (0..10).map(move |n| writer * 100 + n));
    assert_eq!(all, expected.collect::<Vec<_>>(), "O1");
}

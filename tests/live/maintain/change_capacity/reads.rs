//! Reads that use the open index follow a change of the capacity, as writes do, also in sessions.

use bucket_runtime::{
    Buckets, Result,
    mongodb::{ClientSession, Database},
};
use futures_util::TryStreamExt;

use crate::{
    maintain::change_capacity::moves::{
        Numbered10, Numbered25, Timed10, Timed25, Trade, Windowed10, Windowed25, change,
    },
    support::database::{Live, fresh},
};

const CUSTOMER: i64 = 12;

/// Up to eight items after the first `skip`, in either direction.
async fn read<T: Trade>(
    trades: &Buckets<T>,
    skip: u64,
    newest_first: bool,
    session: Option<&mut ClientSession>,
) -> Result<Vec<i64>> {
    let mut items = trades.items(&CUSTOMER).skip(skip).limit(8);
    if newest_first {
        items = items.newest_first();
    }
    let items = match session {
        Some(session) => items.session(session).await?,
        None => items.await?,
    };
    let items: Vec<T> = items.try_collect().await?;
    Ok(items.iter().map(T::n).collect())
}

/// Handles that know only the former capacity. They share nothing, so none learns from another.
async fn stale<T: Trade, U: Trade>(db: &Database, handles: usize) -> Vec<Buckets<T>> {
    let first = fresh::<T>(db).await;
    let items = (0..95).map(|n| T::new(CUSTOMER, n));
    first.append_many(items).await.unwrap();
    let mut stale = vec![first];
    while stale.len() < handles {
        stale.push(T::buckets(db).await.unwrap());
    }
    change::<U>(db, true).await;
    stale
}

async fn follows<T: Trade, U: Trade>(db: &Database) {
    let mut handles = stale::<T, U>(db, 4).await.into_iter();
    let all =
        crate::maintain::change_capacity::moves::numbers(&U::buckets(db).await.unwrap(), CUSTOMER)
            .await;
    let expected = |skip: usize, newest_first| -> Vec<i64> {
        let mut all = all.clone();
        if newest_first {
            all.reverse();
        }
        all.into_iter().skip(skip).take(8).collect()
    };
    for newest_first in [false, true] {
        let handle = handles.next().unwrap();
        let found = read(&handle, 33, newest_first, None).await.unwrap();
        assert_eq!(found, expected(33, newest_first));
        let found = read(&handle, 70, newest_first, None).await.unwrap();
        assert_eq!(found, expected(70, newest_first));
    }
    // At most the first attempt fails: then its handle knows the new capacity.
    let mut session = db.client().start_session().await.unwrap();
    for in_transaction in [false, true] {
        let handle = handles.next().unwrap();
        let mut found = None;
        for _ in 0..2 {
            if in_transaction {
                session.start_transaction().await.unwrap();
            }
            found = read(&handle, 33, false, Some(&mut session)).await.ok();
            if in_transaction {
                let _ = session.abort_transaction().await;
            }
        }
        assert_eq!(found, Some(expected(33, false)), "{in_transaction}");
    }
}

#[bucket_testkit::test]
async fn a_read_that_skips_follows_another_capacity(db: Live) {
    follows::<Timed10, Timed25>(&db).await;
    follows::<Numbered10, Numbered25>(&db).await;
    follows::<Windowed10, Windowed25>(&db).await;
}

/// A transaction with these calls is repeated until it succeeds.
async fn gets_through<T: Trade>(
    trades: Buckets<T>,
    call: impl AsyncFn(&Buckets<T>, &mut ClientSession) -> Result<()>,
) {
    let client = trades.collection().client();
    let mut session = client.start_session().await.unwrap();
    let mut last = None;
    for _ in 0..3 {
        session.start_transaction().await.unwrap();
        match call(&trades, &mut session).await {
            Ok(()) => return session.commit_transaction().await.unwrap(),
            Err(error) => last = Some(error),
        }
        let _ = session.abort_transaction().await;
    }
    panic!("{last:?}");
}

async fn transactions<T: Trade, U: Trade>(db: &Database) {
    let mut handles = stale::<T, U>(db, 6).await.into_iter();
    let mut next = || handles.next().unwrap();
    gets_through(next(), async |trades, session| {
        read(trades, 40, false, Some(session)).await.map(drop)
    })
    .await;
    gets_through(next(), async |trades, session| {
        let append = trades.append(&T::new(CUSTOMER, 95));
        append.session(session).await.map(drop)
    })
    .await;
    gets_through(next(), async |trades, session| {
        let any = bucket_runtime::Filter::default();
        trades
            .remove_item(&CUSTOMER, any)
            .session(session)
            .await
            .map(drop)
    })
    .await;
    gets_through(next(), async |trades, session| {
        trades.count(&CUSTOMER).session(&mut *session).await?;
        trades.latest(&CUSTOMER).session(&mut *session).await?;
        read(trades, 60, true, Some(session)).await.map(drop)
    })
    .await;
}

#[bucket_testkit::test]
async fn a_transaction_gets_through_after_another_capacity_whatever_it_begins_with(db: Live) {
    transactions::<Timed10, Timed25>(&db).await;
    transactions::<Numbered10, Numbered25>(&db).await;
}

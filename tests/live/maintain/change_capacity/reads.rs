//! Transactions get through after a change of the capacity, whatever they begin with.

use crate::{
    maintain::change_capacity::moves::{Numbered10, Numbered25, Timed10, Timed25, Trade, change},
    support::database::{Live, fresh},
};
use bucket_runtime::{
    Buckets, Result,
    mongodb::{ClientSession, Database},
};

const CUSTOMER: i64 = 12;

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
    let mut handles = stale::<T, U>(db, 3).await.into_iter();
    let mut next = || handles.next().unwrap();
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
        trades.latest(&CUSTOMER).session(session).await.map(drop)
    })
    .await;
}

#[bucket_testkit::test]
async fn a_transaction_gets_through_after_another_capacity_whatever_it_begins_with(db: Live) {
    transactions::<Timed10, Timed25>(&db).await;
    transactions::<Numbered10, Numbered25>(&db).await;
}

//! Edits and removals in sessions, in transactions, and in blocking calls.

use bucket_runtime::{
    Buckets,
    mongodb::{ClientSession, Database, error::TRANSIENT_TRANSACTION_ERROR},
};
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

use crate::support::{
    database::{Live, documents},
    notes::{DyingSum, Note, Seconds, checked, created, for_all_notes},
    runtime::blocking,
};

async fn filled<T: Note>(db: &Database) -> (Buckets<T>, ClientSession) {
    let notes = created::<T>(db).await;
    for n in 0..7 {
        notes.append(&T::new(1, n, n as i32)).await.unwrap();
    }
    (notes, db.client().start_session().await.unwrap())
}

async fn change<T: Note>(notes: &Buckets<T>, session: &mut ClientSession) {
    let up = |note: &mut T| *note.value() += 100;
    let update = notes.update_item(&1, T::n_is(1), up).session(&mut *session);
    assert_eq!(*update.await.unwrap().unwrap().value(), 101);
    // One bucket is deleted, and one is sealed.
    for n in [3, 4, 5, 0] {
        let remove = notes.remove_item(&1, T::n_is(n)).session(&mut *session);
        assert_eq!(remove.await.unwrap().unwrap().n(), n);
    }
    let append = notes.append(&T::new(1, 7, 7)).session(&mut *session);
    append.await.unwrap();
    // The session sees what it wrote.
    let remove = notes.remove_item(&1, T::n_is(7)).session(&mut *session);
    assert_eq!(*remove.await.unwrap().unwrap().value(), 7);
    let none = notes.remove_item(&1, T::n_is(7)).session(session);
    assert_eq!(none.await.unwrap(), None);
}

async fn all_or_nothing<T: Note>(db: &Database) {
    let (notes, mut session) = filled::<T>(db).await;
    let before = documents(notes.collection()).await;
    for commit in [false, true] {
        session.start_transaction().await.unwrap();
        change(&notes, &mut session).await;
        assert_eq!(documents(notes.collection()).await, before);
        match commit {
            true => session.commit_transaction().await.unwrap(),
            false => session.abort_transaction().await.unwrap(),
        }
    }
    let changed = vec![(1, 101), (2, 2), (6, 6)];
    assert_eq!(checked(&notes).await[&1], changed);

    // Each call in a session of its own, without a transaction.
    let (notes, mut session) = filled::<T>(db).await;
    change(&notes, &mut session).await;
    assert_eq!(checked(&notes).await[&1], changed);
}

#[bucket_testkit::test]
async fn a_transaction_edits_and_removes_all_or_nothing(db: Live) {
    for_all_notes!(all_or_nothing(&db));
}

/// The driver runs a transaction again if its error says so.
#[bucket_testkit::test]
async fn of_two_transactions_that_change_an_item_one_has_to_run_again(db: Live) {
    let (notes, mut one) = filled::<DyingSum>(&db).await;
    let mut other = db.client().start_session().await.unwrap();
    one.start_transaction().await.unwrap();
    other.start_transaction().await.unwrap();
    let up = |note: &mut DyingSum| *note.value() += 1;
    let edit = notes.update_item(&1, DyingSum::n_is(1), up);
    edit.session(&mut one).await.unwrap();
    let edit = notes.remove_item(&1, DyingSum::n_is(2));
    let error = edit.session(&mut other).await.unwrap_err();
    let driver = error.driver().expect("the driver's error");
    let may_run_again = driver.contains_label(TRANSIENT_TRANSACTION_ERROR);
    assert!(may_run_again, "{error}");
    other.abort_transaction().await.unwrap();
    one.commit_transaction().await.unwrap();
    assert_eq!(checked(&notes).await[&1][1..3], [(1, 2), (2, 2)]);
}

/// A change of the item between the read and the write is not overwritten: the closure is called again,
/// on what is there then. Appends meanwhile disturb nobody.
#[bucket_testkit::test(multi_thread)]
async fn a_change_in_between_is_taken_into_account(db: Live) {
    let (notes, _) = filled::<Seconds>(&db).await;
    let meanwhile = |call: BoxFuture<'static, ()>| {
        tokio::task::block_in_place(|| Handle::current().block_on(call));
    };
    let mut values = Vec::new();
    let edit = notes.update_item(&1, Seconds::n_is(6), |note| {
        values.push(*note.value());
        let (notes, first) = (notes.clone(), values.len() == 1);
        meanwhile(Box::pin(async move {
            if first {
                let other = notes.update_item(&1, Seconds::n_is(6), |note| *note.value() = 50);
                other.await.unwrap();
            } else {
                notes.append(&Seconds::new(1, 7, 7)).await.unwrap();
            }
        }));
        *note.value() += 1;
    });
    let mut now = edit.await.unwrap().unwrap();
    assert_eq!(*now.value(), 51);
    assert_eq!(values, [6, 50]);
    assert_eq!(checked(&notes).await[&1][6..], [(6, 51), (7, 7)]);
}

/// Where the bucket keeps totals, an append meanwhile makes the edit compute them again.
#[bucket_testkit::test(multi_thread)]
async fn an_append_in_between_is_in_the_totals(db: Live) {
    let (notes, _) = filled::<DyingSum>(&db).await;
    let mut calls = 0;
    let edit = notes.update_item(&1, DyingSum::n_is(6), |note| {
        calls += 1;
        if calls == 1 {
            let notes = notes.clone();
            let append = async move { notes.append(&DyingSum::new(1, 7, 7)).await.unwrap() };
            tokio::task::block_in_place(|| Handle::current().block_on(append));
        }
        *note.value() = 60;
    });
    edit.await.unwrap().unwrap();
    assert_eq!(calls, 2);
    assert_eq!(checked(&notes).await[&1][6..], [(6, 60), (7, 7)]);
}

#[bucket_testkit::test(multi_thread)]
async fn by_blocking(db: Live) {
    let notes = created::<Seconds>(&db).await;
    blocking(|| {
        notes.append(&Seconds::new(1, 1, 1)).run().unwrap();
        let up = |note: &mut Seconds| *note.value() += 1;
        let now = notes.update_item(&1, Seconds::n_is(1), up).run();
        let mut expected = Seconds::new(1, 1, 2);
        assert_eq!(now.unwrap(), Some(expected.clone()));
        let gone = notes.remove_item(&1, Seconds::n_is(1)).run();
        assert_eq!(gone.unwrap().as_mut(), Some(&mut expected));
    });
}

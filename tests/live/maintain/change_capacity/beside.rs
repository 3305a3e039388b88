//! Writers of the old capacity beside a change. G1: what they store is stored once, and what is refused is not stored.
//! G2: once the call is done they are refused. G3: a key has one open bucket at any time.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket, Buckets, Error,
    mongodb::{
        Database,
        bson::{Document, doc},
    },
};
use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

use super::{
    Numbered4, Numbered10, Timed4, Timed10, Timed25, Trade, Windowed10, Windowed25, is_refused,
    is_sound, lengths, stored,
};
use crate::support::{
    assert_refused,
    database::{Live, documents, interrupted, snapshot},
    tasks::JoinSet,
};

const WRITERS: i64 = 6;
const CUSTOMERS: i64 = 3;

/// A customer whose open bucket a handle remembers, and then does not use until the change is done.
const IDLE: i64 = 77;

/// Appends an item; returns it if it is stored.
async fn try_append<T: Trade>(trades: &Buckets<T>, customer: i64, n: i64) -> Option<i64> {
    match trades.append(&T::new(customer, n)).await {
        Ok(_) => Some(n),
        Err(error) => {
            assert!(
                error.is_index_missing() && !error.is_maybe_stored(),
                "{error}"
            );
            None
        }
    }
}

/// Appends until some appends have begun after the change; returns the stored items. Counts itself in `writing` once one
/// is stored.
async fn write<T: Trade>(
    trades: Buckets<T>,
    first: i64,
    is_changed: Arc<AtomicBool>,
    writing: Arc<AtomicI64>,
) -> Vec<i64> {
    let (mut all, mut n, mut late) = (Vec::new(), first, 0);
    while late < 5 {
        let is_late = is_changed.load(Ordering::SeqCst);
        // One by one, and three that wait at the same time, which may share a command.
        let some = n..n + if n % 2 == 0 { 1 } else { 3 };
        n = some.end;
        let appends = some.map(|n| try_append(&trades, n / 4 % CUSTOMERS, n));
        let some = Vec::from_iter(join_all(appends).await.into_iter().flatten());
        assert!(
            !is_late || some.is_empty(),
            "G2: {some:?} were stored after the change"
        );
        late += u32::from(is_late);
        if all.is_empty() && !some.is_empty() {
            writing.fetch_add(1, Ordering::SeqCst);
        }
        all.extend(some);
    }
    all
}

/// Looks at all documents at one moment, again and again. Buckets with fewer items than `open_below` are open. Returns
/// the number of looks.
async fn watch<T: Trade>(db: Database, open_below: Arc<AtomicUsize>) -> u32 {
    let (mut looks, trades) = (0, db.collection::<Document>("trades"));
    while open_below.load(Ordering::SeqCst) > 0 {
        let before = open_below.load(Ordering::SeqCst);
        let Some(now) = snapshot(&trades).await else {
            continue;
        };
        // It may have changed since; the lesser of both capacities is right in either case.
        let after = open_below.load(Ordering::SeqCst);
        let lengths = lengths(&now, before.min(after));
        let most = lengths.into_values().max();
        assert!(most <= Some(T::SPEC.capacity as usize), "G2: {most:?}");
        looks += 1;
    }
    looks
}

async fn writers<A: Trade, B: Trade>(db: &Database) {
    let shared = A::buckets(db).await.unwrap();
    let alone = A::buckets(db).combine(false).await.unwrap();
    let mut expected = Vec::from_iter(-6..0);
    for n in -6..0 {
        let (idle, customer) = if n % 2 == 0 {
            (&shared, IDLE)
        } else {
            (&alone, IDLE + 1)
        };
        idle.append(&A::new(customer, n)).await.unwrap();
    }
    let is_changed = Arc::new(AtomicBool::new(false));
    let open_below = Arc::new(AtomicUsize::new(A::SPEC.capacity as usize));
    let writing = Arc::new(AtomicI64::new(0));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let handle = if writer % 3 == 0 { &alone } else { &shared };
        let first = writer * 1_000_000;
        let (is_changed, writing) = (Arc::clone(&is_changed), Arc::clone(&writing));
        writers.spawn(write(handle.clone(), first, is_changed, writing));
    }
    let watcher = tokio::spawn(watch::<A>(db.clone(), Arc::clone(&open_below)));
    sleep(Duration::from_millis(200)).await;
    let all_write = async {
        while writing.load(Ordering::SeqCst) < WRITERS {
            sleep(Duration::from_millis(20)).await;
        }
    };
    // Whoever does not write by then is named below.
    let _ = timeout(Duration::from_secs(20), all_write).await;

    let least = A::SPEC.capacity.min(B::SPEC.capacity);
    open_below.store(least as usize, Ordering::SeqCst);
    Ops::<B>::of(db).change_capacity().await.unwrap();
    is_changed.store(true, Ordering::SeqCst);
    for written in writers.join_all().await {
        assert!(!written.is_empty(), "a writer has stored nothing");
        expected.extend(written);
    }
    // Whatever a handle remembers: an open bucket, a full one, or nothing about a new customer.
    let are_refused = async || {
        for old in [&shared, &alone] {
            for customer in [0, 1, 2, IDLE, IDLE + 1, 99] {
                is_refused(old, &A::new(customer, -7)).await;
            }
        }
    };
    are_refused().await;
    open_below.store(0, Ordering::SeqCst);
    assert!(watcher.await.unwrap() > 0);
    expected.sort_unstable();
    assert_eq!(stored(db).await, expected, "G1");
    // Also if the last bucket is an open one of the new capacity.
    is_sound::<B>(db).await;
    are_refused().await;
}

/// At each command of the change, just before it is sent, handles of the old capacity append: to a bucket that they
/// remember, to one that they find, and to a new customer.
async fn at_each_command<A: Trade, B: Trade>(db: &Live) {
    let remembering = A::buckets(db).await.unwrap();
    let finding = A::buckets(db).await.unwrap();
    let (before, next) = (120, Arc::new(AtomicI64::new(0)));
    for n in 0..before {
        remembering.append(&A::new(n % 30, n)).await.unwrap();
    }
    let expected = Arc::new(Mutex::new(Vec::from_iter(0..before)));
    let refused = Arc::new(AtomicI64::new(0));
    let least = A::SPEC.capacity.min(B::SPEC.capacity) as usize;
    let step = {
        let (expected, refused) = (Arc::clone(&expected), Arc::clone(&refused));
        move || {
            let (remembering, finding) = (remembering.clone(), finding.clone());
            let (expected, refused) = (Arc::clone(&expected), Arc::clone(&refused));
            let step = next.fetch_add(1, Ordering::SeqCst);
            async move {
                let n = before + step * 4;
                let appends = [
                    try_append(&remembering, step, n).await,
                    try_append(&remembering, 29, n + 1).await,
                    try_append(&finding, 28, n + 2).await,
                    try_append(&finding, 100 + step, n + 3).await,
                ];
                let stored = appends.into_iter().flatten();
                let stored = Vec::from_iter(stored);
                refused.fetch_add(4 - stored.len() as i64, Ordering::SeqCst);
                expected.lock().unwrap().extend(stored);
                lengths(&documents(remembering.collection()).await, least);
            }
        }
    };
    let client = interrupted(|_| true, step).await;
    let change = Ops::<B>::of(&client.database(db.name())).change_capacity();
    change.await.unwrap();
    let expected = expected.lock().unwrap().clone();
    assert!(expected.len() as i64 > before && refused.load(Ordering::SeqCst) > 0);
    assert_eq!(stored(db).await, expected, "G1");
    is_sound::<B>(db).await;
}

/// The capacity is lowered to four, and a bucket is opened with the id of one that the old handle had in the same second.
/// The old handle must not fill it; returns its error.
async fn with_the_same_id(db: &Live, old: &Buckets<Timed10>) -> Error {
    Ops::<Timed4>::of(db).change_capacity().await.unwrap();
    let new = Timed4::buckets(db).await.unwrap();
    let same_second = (2..6).map(|n| Timed4::new(1, n));
    new.append_many(same_second).await.unwrap();
    let error = old.append(&Timed10::new(1, 6)).await.unwrap_err();
    assert!(!error.is_maybe_stored(), "{error}");
    assert_eq!(stored(db).await, [2, 3, 4, 5]);
    is_sound::<Timed4>(db).await;
    error
}

/// A handle remembers a bucket that was removed. Only the validator refuses what it appends to another one with its id.
#[bucket_testkit::test]
async fn g2_of_a_bucket_with_the_id_of_a_removed_one(db: Live) {
    Timed10::create_collection(&db).await.unwrap();
    let old = Timed10::buckets(&db).await.unwrap();
    old.append(&Timed10::new(1, 1)).await.unwrap();
    let removed = old.collection().delete_many(doc! { "customer": 1 });
    assert_eq!(removed.await.unwrap().deleted_count, 1);
    with_the_same_id(&db, &old).await;
}

/// A handle does not remember a bucket that it has opened in a transaction, which may be aborted.
#[bucket_testkit::test]
async fn g2_of_a_bucket_with_the_id_of_an_aborted_one(db: Live) {
    let old = Timed10::buckets(&db).await.unwrap();
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let aborted = Timed10::new(1, 1);
    old.append(&aborted).session(&mut session).await.unwrap();
    session.abort_transaction().await.unwrap();
    let error = with_the_same_id(&db, &old).await;
    assert_refused(&error, Error::is_index_missing);
}

macro_rules! beside {
    ($($test:ident: $what:ident::<$old:ident, $new:ident>;)+) => {$(
        #[bucket_testkit::test(multi_thread)]
        async fn $test(db: Live) {
            $what::<$old, $new>(&db).await;
        }
    )+};
}

beside! {
    g1_g2_g3_of_writers_by_time_to_25: writers::<Timed10, Timed25>;
    g1_g2_g3_of_writers_by_number_to_4: writers::<Numbered10, Numbered4>;
    g1_g2_g3_of_writers_in_windows_to_25: writers::<Windowed10, Windowed25>;
    g1_g3_at_each_command_by_time: at_each_command::<Timed10, Timed25>;
    g1_g3_at_each_command_by_number: at_each_command::<Numbered10, Numbered4>;
    g1_g3_at_each_command_in_windows: at_each_command::<Windowed10, Windowed25>;
}

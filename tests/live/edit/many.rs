//! Edits and removals of all items that match: what is left is what a `Vec` says, beside writers, in sessions,
//! and after calls that ended in the middle.

mod limits;

use std::{
    collections::BTreeMap,
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bucket_ops::Ops;
use bucket_runtime::{Bucket, Buckets, Filter, mongodb::Database};
use rand::Rng;
use tokio::time::timeout;

use crate::support::{
    database::{Live, documents, items},
    notes::{
        DyingSum, Note, NumberedSum, Seconds, checked, checked_documents, created, for_all_notes,
    },
    tasks::JoinSet,
};

/// The number and the value of each item, by owner.
type Stored = BTreeMap<i64, Vec<(i64, i32)>>;

async fn filled<T: Note>(db: &Database, items: i64) -> (Buckets<T>, Stored) {
    let notes = created::<T>(db).await;
    let mut stored = Stored::new();
    for n in 0..items {
        let (owner, value) = (n % 2, (n % 5) as i32);
        notes.append(&T::new(owner, n, value)).await.unwrap();
        stored.entry(owner).or_default().push((n, value));
    }
    (notes, stored)
}

/// Changes the values of the model as a call does, and counts them.
fn update(stored: &mut Stored, owner: Option<i64>, value: i32, by: i32) -> u64 {
    let of_owner = stored
        .iter_mut()
        .filter(|(key, _)| owner.is_none_or(|owner| owner == **key));
    let items = of_owner.flat_map(|(_, items)| items);
    let matching = items.filter(|(_, stored)| *stored == value);
    matching.map(|(_, stored)| *stored += by).count() as u64
}

fn remove(stored: &mut Stored, owner: Option<i64>, value: i32) -> u64 {
    let mut removed = 0;
    for (key, items) in &mut *stored {
        if owner.is_none_or(|owner| owner == *key) {
            let before = items.len();
            items.retain(|(_, stored)| *stored != value);
            removed += (before - items.len()) as u64;
        }
    }
    stored.retain(|_, items| !items.is_empty());
    removed
}

async fn as_in_a_vec<T: Note>(db: &Database) {
    let (notes, mut stored) = filled::<T>(db, 31).await;
    let up = |by| move |note: &mut T| *note.value() += by;

    let changed = notes
        .update_items(&0, T::value_is(3), up(10))
        .await
        .unwrap();
    assert_eq!(changed, update(&mut stored, Some(0), 3, 10));
    assert_eq!(checked(&notes).await, stored);

    let removed = notes.remove_items(&1, T::value_is(2)).await.unwrap();
    assert_eq!(removed, remove(&mut stored, Some(1), 2));
    assert_eq!(checked(&notes).await, stored);

    let changed = notes
        .update_all_items(T::value_is(4), up(-3))
        .await
        .unwrap();
    assert_eq!(changed, update(&mut stored, None, 4, -3));
    assert_eq!(checked(&notes).await, stored);

    // Some buckets of each key become empty.
    let all = T::value_is(1).or(T::value_is(0));
    let mut seen = Vec::new();
    let removed = notes
        .remove_all_items(all)
        .on_progress(|at| seen.push((at.buckets, at.items)));
    let removed = removed.await.unwrap();
    assert_eq!(
        removed,
        remove(&mut stored, None, 1) + remove(&mut stored, None, 0)
    );
    assert_eq!(checked(&notes).await, stored);
    assert_eq!(seen.last().map(|(_, items)| *items), Some(removed));
    assert!(
        seen.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0),
        "{seen:?}"
    );

    // Nothing matches, or nothing changes.
    let changed = [
        notes.update_items(&0, T::value_is(99), up(1)).await,
        notes.update_items(&7, Filter::default(), up(1)).await,
        notes.update_all_items(Filter::default(), up(0)).await,
    ];
    assert_eq!(changed.map(Result::unwrap), [0; 3]);
    assert_eq!(notes.remove_all_items(T::value_is(99)).await.unwrap(), 0);
    assert_eq!(checked(&notes).await, stored);

    // Later items come after those that are left.
    for n in 31..36 {
        notes.append(&T::new(0, n, 7)).await.unwrap();
        stored.entry(0).or_default().push((n, 7));
    }
    assert_eq!(checked(&notes).await, stored);

    let all: usize = stored.values().map(Vec::len).sum();
    let removed = notes.remove_all_items(Filter::default()).await.unwrap();
    assert_eq!(removed, all as u64);
    assert_eq!(checked(&notes).await, Stored::new());
    let problems = Ops::<T>::in_collection(notes.collection().clone())
        .verify()
        .await;
    assert_eq!(problems.unwrap().problems, []);
}

#[bucket_testkit::test]
async fn all_matches_are_edited_and_removed(db: Live) {
    for_all_notes!(as_in_a_vec(&db));
}

macro_rules! wide {
    ($($name:ident($($kept:tt)*))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "wide", id = "{owner}_{#}", capacity = 40)]
        struct $name {
            owner: i64,
            n: i32,
            $($kept)*
            value: i32,
            text: String,
        }

        impl $name {
            /// Takes any of the items of a bucket at once: first, last, next to each other, alone.
            async fn any_subset(db: &Database) {
                let _ = db.collection::<Self>("wide").drop().await;
                let all = Self::buckets(db).await.unwrap();
                let mut model = Vec::from_iter((0..100).map(|n| Self {
                    owner: 1,
                    n,
                    value: 0,
                    text: "x".repeat(n as usize % 7),
                }));
                all.append_many(model.clone()).await.unwrap();
                for round in 1..=25 {
                    let chosen = |n: &i32| rand::rng().random_bool(if n % 2 == 0 { 0.7 } else { 0.1 });
                    let chosen = Vec::from_iter((0..100).filter(chosen));
                    let filter = Self::FIELDS.n.is_in(chosen.clone());
                    let changed = all.update_items(&1, filter, |item| {
                        item.value += round;
                        item.text = "y".repeat(round as usize);
                    });
                    let changed = changed.await.unwrap();
                    let mut expected = 0;
                    for item in model.iter_mut().filter(|item| chosen.contains(&item.n)) {
                        item.value += round;
                        item.text = "y".repeat(round as usize);
                        expected += 1;
                    }
                    assert_eq!(changed, expected);
                    let gone = Vec::from_iter((0..3).map(|_| rand::rng().random_range(0..100)));
                    let filter = Self::FIELDS.n.is_in(gone.clone());
                    let removed = all.remove_all_items(filter).await.unwrap();
                    let before = model.len();
                    model.retain(|item| !gone.contains(&item.n));
                    assert_eq!(removed, (before - model.len()) as u64);
                    assert_eq!(items(&all, &1).await, model);
                }
                let problems = Ops::<Self>::in_collection(all.collection().clone()).verify().await;
                assert_eq!(problems.unwrap().problems, []);
            }
        }
    )+};
}

wide! {
    Wide()
    WideSum(#[bucket(sum, min, max)])
}

#[bucket_testkit::test]
async fn any_items_of_a_bucket_are_changed_by_one_update(db: Live) {
    Wide::any_subset(&db).await;
    WideSum::any_subset(&db).await;
}

/// Each item is appended with 5, raised to 6 once, and removed once, by whoever is first.
async fn beside_writers<T: Note>(db: &Database) {
    const ITEMS: i64 = 150;
    let notes = created::<T>(db).await;
    let done = Arc::new(AtomicBool::new(false));
    let mut sweeps = JoinSet::new();
    for sweep in 0..4 {
        let (notes, done) = (notes.clone(), done.clone());
        sweeps.spawn(async move {
            let (mut raised, mut removed) = (0, 0);
            let up = |note: &mut T| *note.value() += 1;
            loop {
                let is_last = done.load(Ordering::Relaxed);
                let owner = sweep % 2;
                raised += match sweep {
                    0 => notes.update_all_items(T::value_is(5), up).await.unwrap(),
                    _ => notes
                        .update_items(&owner, T::value_is(5), up)
                        .await
                        .unwrap(),
                };
                removed += match sweep {
                    1 => notes.remove_all_items(T::value_is(6)).await.unwrap(),
                    _ => notes.remove_items(&owner, T::value_is(6)).await.unwrap(),
                };
                if is_last {
                    return (raised, removed);
                }
            }
        });
    }
    for n in 0..ITEMS {
        notes.append(&T::new(n % 2, n, 5)).await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    let counts = sweeps.join_all().await;
    let (raised, removed) = counts
        .into_iter()
        .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    assert_eq!(checked(&notes).await, Stored::new());
    assert_eq!((raised, removed), (ITEMS as u64, ITEMS as u64));
}

#[bucket_testkit::test(multi_thread)]
async fn g1_each_item_is_changed_once_beside_other_writers(db: Live) {
    for_all_notes!(beside_writers(&db));
}

/// A call that is dropped anywhere has changed whole buckets, and another one goes on.
async fn dropped<T: Note>(db: &Database) {
    let (notes, mut stored) = filled::<T>(db, 40).await;
    let up = |note: &mut T| *note.value() += 10;
    for _ in 0..15 {
        let micros = rand::rng().random_range(0..15_000);
        let call = notes.update_all_items(T::value_is(1), up).into_future();
        let _ = timeout(Duration::from_micros(micros), call).await;
        let call = notes.remove_all_items(T::value_is(2)).into_future();
        let _ = timeout(Duration::from_micros(micros), call).await;
    }
    notes.update_all_items(T::value_is(1), up).await.unwrap();
    notes.remove_all_items(T::value_is(2)).await.unwrap();
    // A command that was on its way when its call was dropped.
    tokio::time::sleep(Duration::from_millis(200)).await;
    update(&mut stored, None, 1, 10);
    remove(&mut stored, None, 2);
    let documents = documents(notes.collection()).await;
    assert_eq!(checked_documents::<T>(documents), stored);
}

#[bucket_testkit::test(multi_thread)]
async fn g6_calls_dropped_at_any_point_change_whole_buckets(db: Live) {
    dropped::<Seconds>(&db).await;
    dropped::<NumberedSum>(&db).await;
    dropped::<DyingSum>(&db).await;
}

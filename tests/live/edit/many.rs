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

use bucket_runtime::{Bucket, Buckets, Filter, mongodb::Database};
use rand::Rng;
use tokio::time::timeout;

use crate::support::{
    assert_sound,
    database::{Live, documents, items},
    notes::{Note, NumberedSum, checked, checked_documents, created, for_all_notes},
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

#[bucket_testkit::test]
async fn a_call_tells_what_it_does_and_changes_nothing_where_nothing_matches(db: Live) {
    let (notes, mut stored) = filled::<NumberedSum>(&db, 31).await;
    let up = |by| move |note: &mut NumberedSum| *note.value() += by;
    let no_match = || NumberedSum::value_is(99);
    let changed = [
        notes.update_items(&0, no_match(), up(1)).await,
        notes.update_items(&7, Filter::default(), up(1)).await,
        notes.update_all_items(Filter::default(), up(0)).await,
        notes.remove_all_items(no_match()).await,
    ];
    assert_eq!(changed.map(Result::unwrap), [0; 4]);
    assert_eq!(checked(&notes).await, stored);

    // Some buckets of each key become empty.
    let some = NumberedSum::value_is(1).or(NumberedSum::value_is(0));
    let mut seen = Vec::new();
    let removal = notes.remove_all_items(some);
    let removal = removal.on_progress(|at| seen.push((at.buckets, at.items)));
    let removed = removal.await.unwrap();
    let expected = remove(&mut stored, None, 1) + remove(&mut stored, None, 0);
    assert_eq!(removed, expected);
    assert_eq!(checked(&notes).await, stored);
    assert_eq!(seen.last().map(|(_, items)| *items), Some(removed));
    let mut buckets = seen.windows(2);
    assert!(buckets.all(|pair| pair[0].0 + 1 == pair[1].0), "{seen:?}");

    // Later items come after those that are left.
    notes.append(&NumberedSum::new(0, 31, 7)).await.unwrap();
    stored.entry(0).or_default().push((31, 7));
    assert_eq!(checked(&notes).await, stored);
    assert_sound(&notes).await;
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "wide", id = "{owner}_{#}", capacity = 40)]
struct Wide {
    owner: i64,
    n: i32,
    #[bucket(sum, min, max)]
    value: i32,
    text: String,
}

/// Any of the items of a bucket at once: first, last, next to each other, alone.
#[bucket_testkit::test]
async fn any_items_of_a_bucket_are_changed_by_one_update(db: Live) {
    let all = Wide::buckets(&db).await.unwrap();
    let mut model = Vec::from_iter((0..100).map(|n| Wide {
        owner: 1,
        n,
        value: 0,
        text: "x".repeat(n as usize % 7),
    }));
    all.append_many(model.clone()).await.unwrap();
    for round in 1..=25 {
        let change = |item: &mut Wide| {
            item.value += round;
            item.text = "y".repeat(round as usize);
        };
        let chosen = |n: &i32| rand::random_bool(if n % 2 == 0 { 0.7 } else { 0.1 });
        let chosen = Vec::from_iter((0..100).filter(chosen));
        let filter = Wide::FIELDS.n.is_in(chosen.clone());
        let changed = all.update_items(&1, filter, change).await.unwrap();
        let expected = model.iter_mut().filter(|item| chosen.contains(&item.n));
        assert_eq!(changed, expected.map(change).count() as u64);
        let gone = [0; 3].map(|_| rand::random_range(0..100));
        let filter = Wide::FIELDS.n.is_in(gone);
        let removed = all.remove_all_items(filter).await.unwrap();
        let before = model.len();
        model.retain(|item| !gone.contains(&item.n));
        assert_eq!(removed, (before - model.len()) as u64);
        assert_eq!(items(&all, &1).await, model);
    }
    assert_sound(&all).await;
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
                let (five, six) = (T::value_is(5), T::value_is(6));
                let done = match sweep {
                    0 => notes.update_all_items(five, up).await,
                    _ => notes.update_items(&owner, five, up).await,
                };
                raised += done.unwrap();
                let done = match sweep {
                    1 => notes.remove_all_items(six).await,
                    _ => notes.remove_items(&owner, six).await,
                };
                removed += done.unwrap();
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
    assert_eq!(checked(&notes).await, Stored::new());
    let (raised, removed): (Vec<u64>, Vec<u64>) = counts.into_iter().unzip();
    for told in [raised, removed] {
        assert_eq!(told.iter().sum::<u64>(), ITEMS as u64, "{told:?}");
    }
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
    for_all_notes!(dropped(&db));
}

//! O1 to O5 under contention: 32 tasks push onto the same parents, across the threshold.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bucket_runtime::{
    Outliers,
    mongodb::{
        Database,
        bson::{Bson, Document, doc},
    },
};
use tokio::sync::Barrier;

use crate::{
    outlier::support::{
        Book, Book1x1, Book1x10, Book1x1000, Book2x10, Book50x1, Book50x10, Book50x1000,
        Book1000x10, Stored, assert_in_order, dense, fresh, items, reads_agree, verify,
    },
    support::{database::Live, scale::scaled, tasks::JoinSet},
};

const WRITERS: i64 = 32;

/// How many values each task pushes: together more than any threshold.
const VALUES: i64 = 40;

/// Reads the parents with the raw driver until the writers are done: no array is ever too long, and
/// once extras are seen, a later read finds the flag. Returns how often it saw extras.
async fn watch<T: Book>(books: Outliers<T>, parents: i64, done: Arc<AtomicBool>) -> u64 {
    let spec = T::SPEC;
    let mut seen = 0;
    let mut last = false;
    while !last {
        last = done.load(Ordering::SeqCst);
        for id in 0..parents {
            let of_parent = doc! { spec.reference: id };
            let extras = books.extras_collection().find_one(of_parent).await.unwrap();
            let parent = books.collection().find_one(doc! { "_id": id });
            let parent: Document = parent.await.unwrap().unwrap();
            let length = parent.get_array(spec.items).unwrap().len();
            assert!(
                length <= spec.threshold as usize,
                "O2: {length} values in {id}"
            );
            if extras.is_some() {
                seen += 1;
                assert_eq!(
                    parent.get(spec.flag),
                    Some(&Bson::Boolean(true)),
                    "O3: {id}"
                );
            }
        }
    }
    seen
}

/// Each task pushes to all parents in turn.
fn parent_of(value: i64, parents: i64) -> i64 {
    (value / 100 + value % 100) % parents
}

/// The tasks use two handles that learn only from the server, as two processes do.
async fn race<T: Book>(db: &Database, parents: i64) {
    let books = fresh::<T>(db).await;
    for id in 0..parents {
        books.insert(&T::new(id, vec![])).await.unwrap();
    }
    let done = Arc::new(AtomicBool::new(false));
    let watcher = tokio::spawn(watch(books.clone(), parents, Arc::clone(&done)));
    let other = T::outliers(db).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let books = if writer % 2 == 0 { &books } else { &other }.clone();
        writers.spawn(async move {
            for n in 0..VALUES {
                let value = writer * 100 + n;
                books.push(&parent_of(value, parents), value).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    done.store(true, Ordering::SeqCst);
    let seen = watcher.await.unwrap();

    let stored = dense(&books).await;
    assert_eq!(stored.len() as i64, parents);
    for (id, stored) in &stored {
        let pushed = (0..WRITERS * 100).filter(|value| value % 100 < VALUES);
        assert_all_once(
            stored,
            pushed.filter(|value| parent_of(*value, parents) == *id),
        );
        reads_agree(&books, *id, stored).await;
    }
    let per_parent = WRITERS * VALUES / parents;
    let outliers = per_parent > i64::from(T::SPEC.threshold);
    assert_eq!(
        seen > 0,
        outliers,
        "the watcher sees extras exactly if there are any"
    );
    assert_eq!(verify(&books).await.unwrap(), []);
}

fn assert_all_once(stored: &Stored, expected: impl Iterator<Item = i64>) {
    let mut all = stored.all();
    assert_in_order(&all, |value| value / 100);
    all.sort_unstable();
    assert_eq!(all, expected.collect::<Vec<_>>(), "O1: each value once");
}

#[bucket_testkit::test(multi_thread)]
async fn pushes_at_any_threshold(db: Live) {
    race::<Book1x1>(&db, 1).await;
    race::<Book1x1000>(&db, 1).await;
    race::<Book2x10>(&db, 1).await;
    race::<Book50x1>(&db, 1).await;
    race::<Book50x1000>(&db, 1).await;
    race::<Book1000x10>(&db, 1).await;
}

#[bucket_testkit::test(multi_thread)]
async fn pushes_to_as_many_parents_as_tasks(db: Live) {
    race::<Book1x10>(&db, WRITERS).await;
    race::<Book50x10>(&db, WRITERS).await;
}

/// 32 tasks push to a parent for the first time, at the same instant. The parent begins with as many
/// values as let all of theirs fit, some of them, or none.
async fn first_pushes<T: Book>(db: &Database, begin: usize) {
    let parents = scaled(40_i64);
    let books = fresh::<T>(db).await;
    let begin: Vec<i64> = (0..begin as i64).map(|n| n - 1000).collect();
    for id in 0..parents {
        books.insert(&T::new(id, begin.clone())).await.unwrap();
    }
    let barrier = Arc::new(Barrier::new(WRITERS as usize));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (books, barrier) = (T::outliers(db).await.unwrap(), Arc::clone(&barrier));
        writers.spawn(async move {
            for id in 0..parents {
                barrier.wait().await;
                books.push(&id, writer).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let stored = dense(&books).await;
    assert_eq!(stored.len() as i64, parents);
    for stored in stored.values() {
        let mut all = stored.all();
        assert_eq!(all[..begin.len()], begin, "O5");
        all.sort_unstable();
        let expected = begin.iter().copied().chain(0..WRITERS);
        assert_eq!(all, expected.collect::<Vec<_>>(), "O1: each value once");
    }
}

#[bucket_testkit::test(multi_thread)]
async fn first_pushes_of_fresh_parents_at_one_instant(db: Live) {
    first_pushes::<Book1x1000>(&db, 0).await;
    first_pushes::<Book2x10>(&db, 2).await;
    first_pushes::<Book50x10>(&db, 30).await;
    first_pushes::<Book1000x10>(&db, 968).await;
}

/// Tasks push many values at once, of all sizes up to several pages, through two handles.
async fn many_at_once<T: Book>(db: &Database) {
    let books = fresh::<T>(db).await;
    books.insert(&T::new(0, vec![])).await.unwrap();
    let other = T::outliers(db).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..8_i64 {
        let books = if writer % 2 == 0 { &books } else { &other }.clone();
        writers.spawn(async move {
            let mut left = writer * 1000..writer * 1000 + 300;
            for nth in 0.. {
                let some = (nth * 7 + writer as usize) % 23 + 1;
                let some = Vec::from_iter(left.by_ref().take(some));
                if some.is_empty() {
                    break;
                }
                books.push_many(&0, some).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    // Read without sorting, so that a wrong order fails before a wrong page does.
    let mut all = items(&books, 0).await;
    assert_in_order(&all, |value| value / 1000);
    all.sort_unstable();
    let expected = (0..8).flat_map(|writer| writer * 1000..writer * 1000 + 300);
    assert_eq!(all, expected.collect::<Vec<_>>(), "O1: each value once");
    dense(&books).await;
}

#[bucket_testkit::test(multi_thread)]
async fn many_values_at_once(db: Live) {
    many_at_once::<Book2x10>(&db).await;
    many_at_once::<Book50x1000>(&db).await;
}

//! G1, G2, G3: whatever the concurrency, n items of a key make ceil(n / capacity) buckets, and each
//! acknowledged item is in exactly one of them.

use std::sync::Arc;

use bucket_runtime::{Buckets, mongodb::Database};
use tokio::sync::Barrier;

use crate::support::{
    database::{Live, dense_buckets, fresh, number},
    scale::scaled,
    tasks::JoinSet,
    zoo::ticks::{Millis2, Numbered1, Numbered2, Numbered10, Seconds1, Seconds2, Seconds10, Tick},
};

const WRITERS: i64 = 32;
const NOON: i64 = 1_698_321_600_000;

/// The handles through which the tasks append.
#[derive(Clone, Copy)]
enum Handles {
    /// Clones of one handle, which combines their appends.
    Clones,
    /// Clones of one handle, which sends each append alone.
    Uncombined,
    /// Four handles that know nothing of each other, like those of four processes.
    Four,
}

/// A handle for each writer, of an empty collection.
async fn handles<T: Tick>(db: &Database, handles: Handles) -> Vec<Buckets<T>> {
    drop(fresh::<T>(db).await);
    let (count, combine) = match handles {
        Handles::Clones => (1, true),
        Handles::Uncombined => (1, false),
        Handles::Four => (4, true),
    };
    let mut opened = Vec::new();
    for _ in 0..count {
        opened.push(T::buckets(db).combine(combine).await.unwrap());
    }
    (opened.iter().cycle().take(WRITERS as usize).cloned()).collect()
}

/// All within one second, and many within one millisecond.
fn burst(n: i64) -> i64 {
    NOON + n % 7
}

/// Half an hour apart, in no order.
fn spread(n: i64) -> i64 {
    NOON + (n * 7919 % 6400) * 1_800_000
}

/// 32 tasks append their items to `keys` keys; then every item is there once, in a dense set of
/// buckets.
async fn race<T: Tick>(db: &Database, keys: i64, time: fn(i64) -> i64, through: Handles) {
    let handles = handles::<T>(db, through).await;
    let items = scaled(40);
    let mut writers = JoinSet::new();
    for (writer, buckets) in (0..).zip(handles.iter().cloned()) {
        writers.spawn(async move {
            for n in writer * items..(writer + 1) * items {
                let tick = T::new(n % keys, n).at(time(n));
                buckets.append(&tick).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    assert_all_stored_once(&handles[0], WRITERS * items, keys).await;
}

async fn assert_all_stored_once<T: Tick>(buckets: &Buckets<T>, items: i64, keys: i64) {
    let by_key = dense_buckets(buckets).await;
    assert_eq!(by_key.len() as i64, keys);
    let mut stored = Vec::new();
    for bucket in by_key.values().flatten() {
        let key = number(bucket.get("k"));
        for item in bucket.get_array("items").unwrap() {
            let n = number(item.as_document().unwrap().get("n"));
            assert_eq!(n % keys, key, "item {n} in a bucket of {key}");
            stored.push(n);
        }
    }
    stored.sort_unstable();
    assert_eq!(stored, Vec::from_iter(0..items), "G1: each item once");
}

macro_rules! races {
    ($($test:ident: $name:ident;)+) => {$(
        #[bucket_testkit::test(multi_thread)]
        async fn $test(db: Live) {
            race::<$name>(&db, 1, burst, Handles::Clones).await;
            race::<$name>(&db, 1, spread, Handles::Four).await;
            race::<$name>(&db, 1, spread, Handles::Uncombined).await;
            race::<$name>(&db, 50, burst, Handles::Four).await;
        }
    )+};
}

races! {
    seconds_1: Seconds1;
    seconds_2: Seconds2;
    seconds_10: Seconds10;
    millis_2: Millis2;
    numbered_1: Numbered1;
    numbered_2: Numbered2;
    numbered_10: Numbered10;
}

/// 32 tasks make the first append of a fresh key at the same instant, through four handles, so that their commands race.
async fn first_appends<T: Tick>(db: &Database) {
    let keys: i64 = scaled(100);
    let handles = handles::<T>(db, Handles::Four).await;
    let barrier = Arc::new(Barrier::new(WRITERS as usize));
    let mut writers = JoinSet::new();
    for (writer, buckets) in (0..).zip(handles.iter().cloned()) {
        let barrier = Arc::clone(&barrier);
        writers.spawn(async move {
            for key in 0..keys {
                let n = writer * keys + key;
                barrier.wait().await;
                let tick = T::new(key, n).at(burst(n));
                buckets.append(&tick).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    assert_all_stored_once(&handles[0], WRITERS * keys, keys).await;
}

#[bucket_testkit::test(multi_thread)]
async fn first_appends_of_fresh_keys(db: Live) {
    first_appends::<Seconds10>(&db).await;
    first_appends::<Numbered10>(&db).await;
}

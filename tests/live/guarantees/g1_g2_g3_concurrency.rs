//! G1, G2, G3: whatever the concurrency, n items of a key make ceil(n / capacity) buckets, and each
//! acknowledged item is in exactly one of them.

use std::sync::Arc;

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{Database, bson::DateTime},
};
use tokio::{sync::Barrier, task::JoinSet};

use crate::support::{
    database::{Live, dense_buckets, number},
    scale::scaled,
};

const WRITERS: i64 = 32;

/// One struct per ordinal and capacity, since a type fixes both.
macro_rules! readings {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "readings", id = $id, capacity = $capacity)]
        struct $name {
            sensor: i64,
            at: DateTime,
            n: i64,
        }

        impl Reading for $name {
            fn new(sensor: i64, at: DateTime, n: i64) -> Self {
                Self { sensor, at, n }
            }
        }
    )+};
}

trait Reading: Bucket {
    fn new(sensor: i64, at: DateTime, n: i64) -> Self;
}

readings! {
    Seconds1("{sensor}_{at}", 1)
    Seconds2("{sensor}_{at}", 2)
    Seconds10("{sensor}_{at}", 10)
    Seconds1000("{sensor}_{at}", 1000)
    Millis1("{sensor}_{at:millis}", 1)
    Millis2("{sensor}_{at:millis}", 2)
    Millis10("{sensor}_{at:millis}", 10)
    Millis1000("{sensor}_{at:millis}", 1000)
    Numbered1("{sensor}_{#}", 1)
    Numbered2("{sensor}_{#}", 2)
    Numbered10("{sensor}_{#}", 10)
    Numbered1000("{sensor}_{#}", 1000)
}

/// How the items' times are spread.
#[derive(Clone, Copy)]
enum Times {
    /// All within one second, and many within one millisecond.
    Burst,
    /// Half an hour apart, in no order.
    Spread,
}

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

/// A handle for each writer.
async fn handles<T: Reading>(db: &Database, handles: Handles) -> Vec<Buckets<T>> {
    let mut opened = Vec::new();
    for _ in 0..if matches!(handles, Handles::Four) {
        4
    } else {
        1
    } {
        let combine = !matches!(handles, Handles::Uncombined);
        opened.push(T::buckets(db).combine(combine).await.unwrap());
    }
    (opened.iter().cycle().take(WRITERS as usize).cloned()).collect()
}

fn time(times: Times, n: i64) -> DateTime {
    const NOON: i64 = 1_698_321_600_000;
    DateTime::from_millis(match times {
        Times::Burst => NOON + n % 7,
        Times::Spread => NOON + (n * 7919 % 6400) * 1_800_000,
    })
}

/// 32 tasks append their items to `keys` keys; then every item is there once, in a dense set of
/// buckets.
async fn race<T: Reading>(db: &Database, keys: i64, times: Times, through: Handles) {
    let _ = db.collection::<T>("readings").drop().await;
    let handles = handles::<T>(db, through).await;
    let items = scaled(40);
    let mut writers = JoinSet::new();
    for (writer, buckets) in (0..).zip(handles.iter().cloned()) {
        writers.spawn(async move {
            for n in writer * items..(writer + 1) * items {
                buckets
                    .append(&T::new(n % keys, time(times, n), n))
                    .await
                    .unwrap();
            }
        });
    }
    writers.join_all().await;
    assert_all_stored_once(&handles[0], WRITERS * items, keys).await;
}

async fn assert_all_stored_once<T: Reading>(buckets: &Buckets<T>, items: i64, keys: i64) {
    let by_key = dense_buckets(buckets).await;
    assert_eq!(by_key.len() as i64, keys);
    let mut stored = Vec::new();
    for bucket in by_key.values().flatten() {
        let sensor = number(bucket.get("sensor"));
        for item in bucket.get_array("items").unwrap() {
            let n = number(item.as_document().unwrap().get("n"));
            assert_eq!(n % keys, sensor, "item {n} in a bucket of {sensor}");
            stored.push(n);
        }
    }
    stored.sort_unstable();
    assert_eq!(stored, (0..items).collect::<Vec<_>>(), "G1: each item once");
}

macro_rules! races {
    ($($test:ident: $($name:ident)+;)+) => {$(
        #[bucket_testkit::test(multi_thread)]
        async fn $test(db: Live) {
            $(
                race::<$name>(&db, 1, Times::Burst, Handles::Clones).await;
                race::<$name>(&db, 1, Times::Spread, Handles::Four).await;
                race::<$name>(&db, 1, Times::Spread, Handles::Uncombined).await;
                race::<$name>(&db, 50, Times::Burst, Handles::Four).await;
                race::<$name>(&db, 50, Times::Spread, Handles::Clones).await;
            )+
        }
    )+};
}

races! {
    seconds_1: Seconds1;
    seconds_2: Seconds2;
    seconds_10_and_1000: Seconds10 Seconds1000;
    millis_1: Millis1;
    millis_2: Millis2;
    millis_10_and_1000: Millis10 Millis1000;
    numbered_1: Numbered1;
    numbered_2: Numbered2;
    numbered_10_and_1000: Numbered10 Numbered1000;
}

/// 32 tasks make the first append of a fresh key at the same instant.
async fn first_appends<T: Reading>(db: &Database) {
    const KEYS: i64 = 100;
    let _ = db.collection::<T>("readings").drop().await;
    let buckets = T::buckets(db).await.unwrap();
    let barrier = Arc::new(Barrier::new(WRITERS as usize));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (buckets, barrier) = (buckets.clone(), Arc::clone(&barrier));
        writers.spawn(async move {
            for key in 0..KEYS {
                let n = writer * KEYS + key;
                barrier.wait().await;
                buckets
                    .append(&T::new(n % KEYS, time(Times::Burst, n), n))
                    .await
                    .unwrap();
            }
        });
    }
    writers.join_all().await;
    assert_all_stored_once(&buckets, WRITERS * KEYS, KEYS).await;
}

#[bucket_testkit::test(multi_thread)]
async fn first_appends_of_fresh_keys(db: Live) {
    first_appends::<Seconds1000>(&db).await;
    first_appends::<Seconds10>(&db).await;
    first_appends::<Millis2>(&db).await;
    first_appends::<Numbered1000>(&db).await;
    first_appends::<Numbered10>(&db).await;
}

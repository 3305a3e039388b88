//! G1 to G3 for time windows: whatever the concurrency and the order of the times, n items of a window
//! make ceil(n / capacity) buckets, and each item is in a bucket of its own window.

use bucket_runtime::{Buckets, mongodb::Database};
use rand::seq::SliceRandom;

use crate::support::{
    database::{Live, dense_buckets, fresh, number},
    tasks::JoinSet,
    zoo::ticks::{Tick, Windows1, Windows10, Windows1000},
};

const WRITERS: usize = 32;
const ITEMS: i64 = 1280;
const KEYS: i64 = 3;
const HOUR: i64 = 3_600_000;

/// Times in no order, on both sides of 1970, in about twenty windows.
fn time(n: i64) -> i64 {
    (n * 7919 % 20_000 - 10_000) * 3600
}

fn tick<T: Tick>(n: i64) -> T {
    T::new(n % KEYS, n).at(time(n))
}

/// 32 tasks append, in shuffled order, through one handle or through four, combined or not. Every
/// eighth task loads its part with `append_many`.
async fn race<T: Tick>(db: &Database, handles: usize, combine: bool) {
    let first = fresh::<T>(db).await;
    let mut opened = vec![first.clone()];
    for _ in 0..handles {
        opened.push(T::buckets(db).combine(combine).await.unwrap());
    }
    let mut numbers: Vec<_> = (0..ITEMS).collect();
    numbers.shuffle(&mut rand::rng());
    let mut writers = JoinSet::new();
    for (writer, part) in numbers.chunks(ITEMS as usize / WRITERS).enumerate() {
        let buckets = opened[1 + writer % handles].clone();
        let part = part.to_vec();
        writers.spawn(async move {
            if writer % 8 == 0 {
                let load = part.into_iter().map(tick::<T>).collect::<Vec<_>>();
                assert!(buckets.append_many(load).await.is_ok());
                return;
            }
            for n in part {
                buckets.append(&tick::<T>(n)).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    each_item_is_in_its_window(&first).await;
}

async fn each_item_is_in_its_window<T: Tick>(buckets: &Buckets<T>) {
    let windows = dense_buckets(buckets).await;
    let mut stored = Vec::new();
    for of_window in windows.values() {
        let key = number(of_window[0].get("k"));
        let start = of_window[0].get_datetime("window").unwrap();
        let start = start.timestamp_millis();
        assert_eq!(start.rem_euclid(HOUR), 0);
        let seconds = start / 1000;
        let text = match seconds {
            0.. => format!("{seconds:010}"),
            _ => format!("-{:010}", 10_000_000_000 + seconds),
        };
        for (n, bucket) in of_window.iter().enumerate() {
            let id = match n {
                0 => format!("{key}_{text}"),
                _ => format!("{key}_{text}_{n:06}"),
            };
            assert_eq!(bucket.get_str("_id").unwrap(), id);
            for item in bucket.get_array("items").unwrap() {
                let item = item.as_document().unwrap();
                let n = number(item.get("n"));
                let at = item.get_datetime("at").unwrap().timestamp_millis();
                assert_eq!((n % KEYS, time(n)), (key, at));
                assert_eq!(at.div_euclid(HOUR) * HOUR, start, "item {n} in {id}");
                stored.push(n);
            }
        }
    }
    stored.sort_unstable();
    assert_eq!(stored, (0..ITEMS).collect::<Vec<_>>(), "G1: each item once");
}

#[bucket_testkit::test(multi_thread)]
async fn items_of_windows_race(db: Live) {
    race::<Windows1>(&db, 4, true).await;
    race::<Windows10>(&db, 1, true).await;
    race::<Windows10>(&db, 4, true).await;
    race::<Windows10>(&db, 2, false).await;
    race::<Windows1000>(&db, 4, true).await;
}

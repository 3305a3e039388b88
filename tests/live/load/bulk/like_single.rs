//! Bulk: `append_many` stores what single appends would have stored, whatever the keys, the order and
//! the buffer, also beside other writers.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicI64, Ordering},
};

use bucket_runtime::{Buckets, Ordinal, mongodb::Database};
use rand::Rng;

use crate::support::{
    database::{Live, at_rest, dense_buckets, fresh, items, number},
    tasks::JoinSet,
    zoo::ticks::{Numbered1, Numbered3, Numbered10, Seconds1, Seconds10, Tick},
};

/// Random loads and single appends, compared with a plain list. Times go up, at several paces, so that
/// the order of ids is the order of the calls.
async fn like_single_appends<T: Tick>(db: &Database) {
    for pace in [40, 2_000] {
        let buckets = fresh::<T>(db).await;
        let mut model = BTreeMap::<i64, Vec<T>>::new();
        let mut n = 0;
        for _ in 0..8 {
            let size = [1, 2, 3, 9, 10, 11, 30, 150][rand::random_range(0..8)];
            let keys = rand::random_range(1..6);
            let buffer = rand::random_range(1..20_000);
            let load: Vec<T> = (n..n + size)
                .map(|n| T::new(n * 7919 % keys, n).at(1_698_321_600_000 + n * pace))
                .collect();
            n += size;
            for tick in &load {
                let key = tick.n() * 7919 % keys;
                model.entry(key).or_default().push(tick.clone());
            }
            if size < 4 {
                for tick in &load {
                    buckets.append(tick).await.unwrap();
                }
            } else {
                let mut seen = Vec::new();
                let append = buckets.append_many(load).buffer(buffer);
                let append = append.on_progress(|stored| seen.push(stored));
                let stored = append.await.unwrap();
                assert_eq!(stored, size as u64);
                assert_eq!(seen.last(), Some(&stored));
                assert!(seen.is_sorted());
            }
        }
        dense_buckets(&buckets).await;
        for (key, expected) in &model {
            let found = items(&buckets, key).await;
            assert_eq!(&found, expected, "pace {pace}, key {key}");
        }
    }
}

#[bucket_testkit::test]
async fn bulk_loads_and_single_appends_store_the_same(db: Live) {
    like_single_appends::<Seconds1>(&db).await;
    like_single_appends::<Seconds10>(&db).await;
    like_single_appends::<Numbered1>(&db).await;
    like_single_appends::<Numbered3>(&db).await;
}

/// The numbers of all items in dense buckets, sorted.
async fn stored<T: Tick>(buckets: &Buckets<T>) -> Vec<i64> {
    let mut stored = Vec::new();
    for bucket in dense_buckets(buckets).await.values().flatten() {
        let items = bucket.get_array("items").unwrap().iter();
        stored.extend(items.map(|item| number(item.as_document().unwrap().get("n"))));
    }
    stored.sort_unstable();
    stored
}

/// Three loads and six writers of single items, each with its own handle, on few keys.
async fn beside_others<T: Tick>(db: &Database) {
    const KEYS: i64 = 4;
    const LOADED: i64 = 2_000;
    const APPENDED: i64 = 100;
    static CLOCK: AtomicI64 = AtomicI64::new(1_698_321_600_000);
    let buckets = fresh::<T>(db).await;
    let mut writers = JoinSet::new();
    for load in 0..3 {
        let buckets = T::buckets(db).await.unwrap();
        writers.spawn(async move {
            let clock = CLOCK.load(Ordering::SeqCst);
            let ticks = (load * LOADED..(load + 1) * LOADED)
                .map(|n| T::new(n % KEYS, n).at(clock + n % LOADED * 300));
            let stored = buckets.append_many(ticks).buffer(100_000).await.unwrap();
            assert_eq!(stored, LOADED as u64);
        });
    }
    for writer in 0..6 {
        let buckets = T::buckets(db).await.unwrap();
        writers.spawn(async move {
            let first = 3 * LOADED + writer * APPENDED;
            for n in first..first + APPENDED {
                let at = CLOCK.fetch_add(100, Ordering::SeqCst);
                buckets.append(&T::new(n % KEYS, n).at(at)).await.unwrap();
            }
        });
    }
    writers.join_all().await;

    let stored = stored(&buckets).await;
    assert!(stored.into_iter().eq(0..3 * LOADED + 6 * APPENDED), "G1");
    for key in 0..KEYS {
        let found = items(&buckets, &key).await;
        assert!(found.iter().all(|tick| tick.n() % KEYS == key), "G4");
        let is_numbered = T::SPEC.id.ordinal == Ordinal::Number;
        let of_loads = found.iter().map(T::n);
        let mut latest = BTreeMap::new();
        for n in of_loads.filter(|n| is_numbered && *n < 3 * LOADED) {
            let before = latest.insert(n / LOADED, n);
            assert!(before < Some(n), "G5: {before:?} before {n}");
        }
    }
}

#[bucket_testkit::test(multi_thread)]
async fn g1_g2_g3_bulk_loads_beside_single_appends(db: Live) {
    beside_others::<Seconds10>(&db).await;
    beside_others::<Numbered1>(&db).await;
    beside_others::<Numbered10>(&db).await;
}

/// Loads that are dropped midway, beside one that is not.
async fn dropped<T: Tick>(db: &Database) {
    const KEYS: i64 = 5;
    const LOADED: i64 = 1_000;
    let buckets = fresh::<T>(db).await;
    let mut stored_all = Vec::new();
    for load in 0..12 {
        let ticks: Vec<T> = (load * LOADED..(load + 1) * LOADED)
            .map(|n| T::new(n % KEYS, n).at(1_698_321_600_000 + n * 300))
            .collect();
        let micros = rand::rng().random_range(0..60_000);
        let append = buckets.append_many(ticks).buffer(30_000);
        let limit = std::time::Duration::from_micros(micros);
        if let Ok(stored) = tokio::time::timeout(limit, append.into_future()).await {
            assert_eq!(stored.unwrap(), LOADED as u64);
            stored_all.push(load);
        }
    }
    let last = T::new(0, 20 * LOADED).at(1_698_321_600_000 + 20 * LOADED * 300);
    buckets.append_many([last]).await.unwrap();
    at_rest(buckets.collection()).await;
    let stored = stored(&buckets).await;
    let twice = stored.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None, "G1: stored twice");
    for load in stored_all {
        for n in load * LOADED..(load + 1) * LOADED {
            assert!(stored.binary_search(&n).is_ok(), "G1: {n} was acknowledged");
        }
    }
}

#[bucket_testkit::test(multi_thread)]
async fn g6_bulk_loads_that_are_dropped(db: Live) {
    dropped::<Seconds10>(&db).await;
    dropped::<Numbered3>(&db).await;
}

//! Bulk: keys of every kind in one load, including texts that look like ids and patterns. A read of
//! each key returns its own items, in the order of the load.

use std::fmt::Debug;

use bucket_runtime::{
    Key,
    mongodb::{Database, bson::DateTime},
};

use crate::{
    guarantees::{
        g4_keys::{
            LongLiterals, Millis, Note, Numbered, PairMillis, PairMixed, PairSeconds, Seconds,
            SignedMinus, fresh,
        },
        g4_texts::{PARTS, hostile},
    },
    support::database::{database, dense_buckets, items},
};

const ROUNDS: i64 = 5;

/// One load with some items of each key in turn; then a second load, which finds open buckets.
async fn load<T: Note>(db: &Database, keys: Vec<T::Key>)
where
    T::Key: Debug,
{
    let notes = fresh::<T>(db).await;
    let note = |key: usize, round: i64| {
        let at = DateTime::from_millis(1_698_335_223_434 + round * 1000);
        T::new(keys[key].clone(), at, key as i64 * 100 + round)
    };
    let mut begin = 0;
    for rounds in [3, ROUNDS - 3] {
        let of_round = |round| (0..keys.len()).map(move |key| (key, round));
        let all: Vec<T> = (begin..begin + rounds)
            .flat_map(of_round)
            .map(|(key, round)| note(key, round))
            .collect();
        let stored = all.len() as u64;
        assert_eq!(notes.append_many(all).await.unwrap(), stored);
        begin += rounds;
    }
    for (at, key) in keys.iter().enumerate() {
        let own: Vec<_> = (0..ROUNDS).map(|round| note(at, round)).collect();
        assert!(items(&notes, key.borrowed()).await == own, "G4: {key:?}");
    }
    assert_eq!(dense_buckets(&notes).await.len(), keys.len());
}

#[tokio::test]
async fn a_load_keeps_hostile_texts_apart() {
    let db = database("bulk_hostile").await;
    let keys = || hostile().into_iter().map(|text| (text,)).collect();
    load::<Seconds>(&db, keys()).await;
    load::<Millis>(&db, keys()).await;
    load::<Numbered>(&db, keys()).await;
    load::<LongLiterals>(&db, keys()).await;
}

#[tokio::test]
async fn a_load_keeps_several_key_fields_apart() {
    let db = database("bulk_pairs").await;
    let pairs = || {
        PARTS
            .iter()
            .flat_map(|a| PARTS.iter().map(move |b| (*a, *b)))
    };
    let texts: Vec<_> = pairs().map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    load::<PairSeconds>(&db, texts.clone()).await;
    load::<PairMillis>(&db, texts).await;
    let numbers = [i64::MIN, -12, -1, 0, 1, 12, 123, i64::MAX];
    let mixed = PARTS
        .iter()
        .flat_map(|a| numbers.map(|b| ((*a).to_owned(), b)));
    load::<PairMixed>(&db, mixed.collect()).await;
    load::<SignedMinus>(&db, numbers.map(|number| (number,)).into()).await;
}

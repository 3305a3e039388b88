//! Bulk: keys of every kind in one load, including texts that look like ids and patterns. A read of
//! each key returns its own items, in the order of the load.

use std::fmt::Debug;

use bucket_runtime::{
    Key,
    mongodb::{
        Database,
        bson::{DateTime, doc},
    },
};

use crate::{
    guarantees::{
        g4_keys::{Note, Numbered, PairMixed, PairSeconds, Seconds, fresh},
        g4_texts::{PARTS, hostile},
    },
    support::database::{Live, Recorded, dense_buckets, is_cluster, items},
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

/// Keys with a number are loaded below.
#[bucket_testkit::test]
async fn a_load_keeps_hostile_texts_and_several_key_fields_apart(db: Live) {
    let texts = hostile().into_iter().map(|text| (text,));
    load::<Seconds>(&db, texts.collect()).await;
    let parts = || PARTS.map(str::to_owned).into_iter();
    let pairs = parts().flat_map(|a| parts().map(move |b| (a.clone(), b)));
    load::<PairSeconds>(&db, pairs.collect()).await;
    let numbers = [i64::MIN, -12, -1, 0, 1, 12, 123, i64::MAX];
    let mixed = parts().flat_map(|a| numbers.map(|b| (a.clone(), b)));
    load::<PairMixed>(&db, mixed.collect()).await;
}

/// Loads into keys whose buckets are all full: this many buckets, by the place of the key. The first
/// bucket of each key was deleted, so a bucket that took a number anew would be read too early. Returns
/// how many `find` commands the last load sent.
async fn continue_numbers(
    Recorded(db, record): &Recorded,
    keys: &[(String,)],
    history: impl Fn(usize) -> i64,
) -> usize {
    let notes = fresh::<Numbered>(db).await;
    notes.collection().delete_many(doc! {}).await.unwrap();
    let at = DateTime::from_millis(1_698_335_223_434);
    // Two items fill a bucket.
    let old = |key: usize| (0..2 * history(key)).map(move |n| (key, n));
    let new = |key: usize| (1000..1003).map(move |n| (key, n));
    let all = |items: Vec<(usize, i64)>| {
        let note = |(key, n): (usize, i64)| Numbered::new(keys[key].clone(), at, n);
        items.into_iter().map(note).collect::<Vec<_>>()
    };
    let places = 0..keys.len();
    let load = all(places.clone().flat_map(old).collect());
    notes.append_many(load).await.unwrap();
    let first = doc! { "_id": { "$regex": r"\|0000000000$" } };
    notes.collection().delete_many(first).await.unwrap();
    record.take();
    let load = all(places.flat_map(new).collect());
    notes.append_many(load).await.unwrap();
    let finds = record.names().iter().filter(|name| *name == "find").count();
    for (at, key) in keys.iter().enumerate() {
        let expected = all(old(at).skip(2).chain(new(at)).collect());
        assert!(items(&notes, key.borrowed()).await == expected, "{key:?}");
    }
    dense_buckets(&notes).await;
    finds
}

#[bucket_testkit::test]
async fn a_load_continues_the_numbers_of_many_keys_in_a_few_reads(on: Recorded) {
    let keys = Vec::from_iter((0..400).map(|n: i64| (n.to_string(),)));
    let finds = continue_numbers(&on, &keys, |key| key as i64 % 4).await;
    assert!(is_cluster().await || finds <= 30, "{finds} reads");
    // The reads of many keys stop before they have gone through a long history.
    let keys = Vec::from_iter(hostile().into_iter().map(|text| (text,)));
    let history = |key: usize| [0, 1, 3, 30][key % 4];
    continue_numbers(&on, &keys, history).await;
}

//! A network that fails in the middle of a load: a command is repeated once, and carried out once. If
//! it is cut twice, the load hands back the items of that command as maybe stored, and the items that
//! were not sent as not stored.

use std::collections::BTreeSet;

use bucket_runtime::{Buckets, mongodb::Database};
use bucket_testkit::{
    Fate::{self, CutAfter, CutBefore, Pass},
    Proxy,
};

use crate::{
    append::combine::support::{
        Mark, Millis10, NOON, Numbered10, Seconds2, Seconds10, assert_stored, at_rest,
    },
    support::database::{Live, fresh, server},
};

const N: i64 = 600;

async fn opened<T: Mark>(direct: &Database, keys: i64) -> (Proxy, Buckets<T>, Buckets<T>) {
    let proxy = Proxy::start(server().await.uri()).await.unwrap();
    let marks = fresh::<T>(&proxy.database(direct.name()).unwrap()).await;
    // Some keys have an open bucket, which is filled first.
    for k in (0..keys).step_by(2) {
        let first = T::new(k, -k - 1).at(NOON - 5_000);
        marks.append(&first).await.unwrap();
    }
    (proxy, marks, T::buckets(direct).await.unwrap())
}

fn firsts(keys: i64) -> impl Iterator<Item = (i64, i64)> {
    (0..keys).step_by(2).map(|k| (k, -k - 1))
}

fn items<T: Mark>(keys: i64) -> impl Iterator<Item = T> {
    (0..N).map(move |n| T::new(n % keys, n).at(NOON + n * 500))
}

async fn repeated<T: Mark>(db: &Database, mark: &'static str, fates: &[Fate]) {
    const KEYS: i64 = 20;
    let (proxy, marks, direct) = opened::<T>(db, KEYS).await;
    proxy.next(mark, fates.iter().copied());
    let load = marks.append_many(items::<T>(KEYS)).buffer(30_000);
    assert_eq!(load.await.unwrap(), N as u64);
    assert!(proxy.is_done());
    let all = (0..N).map(|n| (n % KEYS, n));
    assert_stored(&direct, all.chain(firsts(KEYS))).await;
}

#[bucket_testkit::test]
async fn a_load_that_is_cut_off_once_is_stored_once(db: Live) {
    repeated::<Seconds10>(&db, "insert", &[CutAfter]).await;
    repeated::<Seconds10>(&db, "$push", &[CutAfter]).await;
    repeated::<Millis10>(&db, "insert", &[Pass, CutAfter]).await;
    repeated::<Numbered10>(&db, "insert", &[Pass, Pass, CutBefore]).await;
    repeated::<Numbered10>(&db, "$push", &[CutBefore]).await;
}

/// From one command on, every command is cut until the load gives up.
async fn given_up<T: Mark>(db: &Database, mark: &'static str, passes: usize, fate: Fate) {
    const KEYS: i64 = 7;
    let (proxy, marks, direct) = opened::<T>(db, KEYS).await;
    let cuts = std::iter::repeat_n(fate, 12);
    proxy.next(mark, std::iter::repeat_n(Pass, passes).chain(cuts));
    let mut rest = items::<T>(KEYS);
    let load = marks.append_many(rest.by_ref()).buffer(30_000);
    let error = load.await.unwrap_err();
    proxy.next("", []);
    let left: Vec<_> = rest.map(|item| item.n()).collect();
    assert!(!left.is_empty(), "the load took all items");
    let taken = error.stored() + error.failed().len() as u64;
    assert_eq!(taken + left.len() as u64, N as u64);
    let found: BTreeSet<_> = at_rest(&direct).await.into_values().flatten().collect();
    let mut certain = found.clone();
    for failed in error.failed() {
        assert_eq!(failed.index as i64, failed.item.n());
        assert!(failed.error.driver().is_some(), "{}", failed.error);
        let is_there = certain.remove(&failed.item.n());
        assert!(!is_there || failed.error.is_maybe_stored());
        assert!(!is_there || fate == CutAfter);
    }
    let mut failed = error.failed().iter();
    assert!(failed.any(|failed| failed.error.is_maybe_stored()));
    assert!(left.iter().all(|n| !found.contains(n)));
    certain.retain(|n| *n >= 0);
    assert_eq!(certain.len() as u64, error.stored(), "G1: certainly stored");

    // The items that failed, certainly or maybe, can be sent again.
    let failed = error.into_failed().into_iter();
    let again = failed
        .filter(|failed| !failed.error.is_maybe_stored() || fate == CutBefore)
        .map(|failed| failed.item);
    let again: Vec<T> = again
        .chain(items(KEYS).filter(|item: &T| left.contains(&item.n())))
        .collect();
    marks.append_many(again).await.unwrap();
    let all = (0..N).map(|n| (n % KEYS, n));
    assert_stored(&direct, all.chain(firsts(KEYS))).await;
}

#[bucket_testkit::test]
async fn a_load_that_is_cut_off_again_and_again_hands_back_what_is_in_doubt(db: Live) {
    given_up::<Seconds10>(&db, "insert", 0, CutBefore).await;
    given_up::<Seconds2>(&db, "insert", 5, CutAfter).await;
    given_up::<Seconds10>(&db, "$push", 1, CutAfter).await;
    given_up::<Numbered10>(&db, "insert", 3, CutAfter).await;
}

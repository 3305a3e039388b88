//! A network that fails midway: a command that several appends share is repeated, and the server
//! carries it out once, whether the connection was cut before or after it did so.

use bucket_runtime::{
    Buckets,
    mongodb::{Database, bson::doc},
};
use bucket_testkit::{
    Fate::{self, CutAfter, CutBefore, Pass},
    Proxy,
};

use crate::{
    append::combine::support::{
        Mark, Numbered1, Numbered10, Seconds10, assert_stored, at_rest, together,
    },
    support::database::{Live, fresh, numbers_its_commands, server},
};

const N: i64 = 150;

/// A handle through a proxy, and one that bypasses it.
async fn opened<T: Mark>(direct: &Database) -> (Proxy, Buckets<T>, Buckets<T>) {
    let proxy = Proxy::start(server().await.uri()).await.unwrap();
    let marks = fresh::<T>(&proxy.database(direct.name()).unwrap()).await;
    (proxy, marks, T::buckets(direct).await.unwrap())
}

fn items<T: Mark>(keys: i64, first: i64) -> impl Iterator<Item = T> {
    (first..first + N).map(move |n| T::new(n % keys, n))
}

/// Cuts the first command, and a later one; every append is acknowledged and stored once. Behind
/// a `mongos` an append may be in doubt: if the server refuses a statement of the repeated `bulkWrite`, the driver
/// returns the error of the broken connection instead.
async fn repeated<T: Mark>(db: &Database, fates: &[&[Fate]]) {
    let (proxy, marks, direct) = opened::<T>(db).await;
    let may_doubt = !numbers_its_commands().await;
    for keys in [1, N] {
        let mut in_doubt = Vec::new();
        for (round, fates) in (0..).zip(fates) {
            proxy.next("$push", fates.iter().copied());
            let results = together(&marks, items::<T>(keys, round * N)).await;
            for (n, result) in (round * N..).zip(results) {
                if let Err(error) = result {
                    let is_doubt = may_doubt && error.is_maybe_stored();
                    assert!(is_doubt, "{keys} keys, {fates:?}, {n}: {error}");
                    in_doubt.push(n);
                }
            }
            assert!(
                fates[0] == Pass || proxy.met() > 1,
                "the command was not sent again"
            );
        }
        let found: Vec<_> = at_rest(&direct).await.into_values().flatten().collect();
        let is_there = |n: &i64| !in_doubt.contains(n) || found.contains(n);
        let all = (0..fates.len() as i64 * N).filter(is_there);
        assert_stored(&direct, all.map(|n| (n % keys, n))).await;
        direct.collection().delete_many(doc! {}).await.unwrap();
    }
}

#[bucket_testkit::test]
async fn a_shared_command_that_is_cut_off_is_repeated(db: Live) {
    repeated::<Seconds10>(&db, &[&[CutBefore], &[CutAfter]]).await;
    repeated::<Numbered10>(&db, &[&[CutAfter], &[Pass, CutAfter]]).await;
    // The first command carries a hundred statements; another carries the rest.
    let both = [CutAfter, Pass, CutAfter];
    repeated::<Numbered1>(&db, &[&both]).await;
}

/// The command that finds out a session's number can be cut, too.
#[bucket_testkit::test]
async fn a_session_whose_number_is_not_known_yet_survives_a_cut(db: Live) {
    if !numbers_its_commands().await {
        return;
    }
    for fate in [CutBefore, CutAfter] {
        let (proxy, marks, direct) = opened::<Seconds10>(&db).await;
        proxy.next("$set\0", [fate]);
        for result in together(&marks, items(N, 0)).await {
            result.unwrap();
        }
        assert!(proxy.is_done());
        assert_stored(&direct, (0..N).map(|n| (n, n))).await;
    }
}

/// Cut twice: the appends of that command are told that they may be stored, and each is stored once or
/// not at all. The others in the queue go on.
async fn cut_twice<T: Mark>(db: &Database, keys: i64, shared: i64, fates: &[[Fate; 2]]) {
    for fates in fates.iter().copied() {
        let (proxy, marks, direct) = opened::<T>(db).await;
        proxy.next("$push", fates);
        let results = together(&marks, items::<T>(keys, 0)).await;
        assert!(proxy.is_done());
        let mut acknowledged = Vec::new();
        for (n, result) in (0..).zip(results) {
            match result {
                Ok(_) => acknowledged.push((n % keys, n)),
                Err(error) => assert!(error.is_maybe_stored(), "{error}"),
            }
        }
        assert_eq!(acknowledged.len() as i64, N - shared);
        for result in together(&marks, items::<T>(keys, N)).await {
            result.unwrap();
        }
        let carried_out = fates.contains(&CutAfter);
        let is_there =
            |(_, n): &(i64, i64)| carried_out || *n >= N || acknowledged.contains(&(n % keys, *n));
        let all = (0..2 * N).map(|n| (n % keys, n));
        at_rest(&direct).await;
        assert_stored(&direct, all.filter(is_there)).await;
    }
}

#[bucket_testkit::test]
async fn after_two_cuts_those_concerned_are_in_doubt_and_the_others_go_on(db: Live) {
    let all = [
        [CutBefore, CutBefore],
        [CutBefore, CutAfter],
        [CutAfter, CutBefore],
    ];
    cut_twice::<Seconds10>(&db, N, N, &all).await;
    cut_twice::<Numbered1>(&db, 1, 100, &all[1..2]).await;
}

/// A lone append is the driver's own retryable write.
#[bucket_testkit::test]
async fn an_append_alone_that_is_cut_off_is_repeated_once(db: Live) {
    let (proxy, marks, direct) = opened::<Seconds10>(&db).await;
    for (n, fates) in (0..).zip([[CutBefore, Pass], [CutAfter, Pass]]) {
        proxy.next("$push", fates);
        marks.append(&Seconds10::new(7, n)).await.unwrap();
        assert!(proxy.is_done());
    }
    proxy.next("$push", [CutAfter, CutAfter]);
    let error = marks.append(&Seconds10::new(7, 2)).await.unwrap_err();
    assert!(error.is_maybe_stored(), "{error}");
    assert_stored(&direct, (0..3).map(|n| (7, n))).await;
}

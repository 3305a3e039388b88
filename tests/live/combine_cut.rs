//! A network that fails in the middle: a command that several appends share is repeated, and the
//! server carries it out once, whether the connection was cut before or after it had done so.

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{Database, event::EventHandler},
};

use crate::{
    combine_support::{
        Mark, Millis2, Numbered1, Numbered10, Seconds1, Seconds10, assert_stored, at_rest, fresh,
        together,
    },
    proxy::{
        Fate::{self, CutAfter, CutBefore, Pass},
        Proxy,
    },
    support::{database, server},
};

const N: i64 = 150;

/// A handle through a proxy, and one past it.
async fn opened<T: Mark>(test: &str) -> (Proxy, Buckets<T>, Buckets<T>) {
    let proxy = Proxy::start(server().await.uri()).await;
    let direct: Database = database(test).await;
    let marks = fresh::<T>(&proxy.database(direct.name())).await;
    (proxy, marks, T::buckets(&direct).await.unwrap())
}

fn items<T: Mark>(keys: i64, first: i64) -> impl Iterator<Item = T> {
    (first..first + N).map(move |n| T::new(n % keys, n))
}

/// Cuts at the first command, and at one in the middle; all is acknowledged, and stored once.
async fn repeated<T: Mark>(test: &str) {
    let (proxy, marks, direct) = opened::<T>(test).await;
    let mut first = 0;
    for keys in [1, N, 40] {
        for fates in [
            &[CutBefore][..],
            &[CutAfter],
            &[Pass, CutAfter],
            &[CutAfter, Pass, CutBefore],
        ] {
            proxy.next("$push", fates.iter().copied());
            for (n, result) in (0..).zip(together(&marks, items::<T>(keys, first)).await) {
                assert!(result.is_ok(), "{keys} keys, {fates:?}, {n}: {result:?}");
            }
            assert!(fates[0] == Pass || proxy.met() > 1, "it was sent again");
            first += N;
        }
        let all = (0..first).map(|n| (n % keys, n));
        assert_stored(&direct, all).await;
        direct
            .collection()
            .delete_many(bucket_runtime::mongodb::bson::doc! {})
            .await
            .unwrap();
        first = 0;
    }
}

#[tokio::test]
async fn a_shared_command_that_is_cut_off_is_repeated() {
    repeated::<Seconds10>("combine_cut_seconds").await;
    repeated::<Seconds1>("combine_cut_seconds_1").await;
    repeated::<Millis2>("combine_cut_millis").await;
    repeated::<Numbered10>("combine_cut_numbered").await;
    repeated::<Numbered1>("combine_cut_numbered_1").await;
}

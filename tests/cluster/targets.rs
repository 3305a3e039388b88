//! How many shards each call asks: one for each call for a key, as the shards' own profilers report.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::atomic::{AtomicI64, Ordering::Relaxed},
};

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket, Fields, Outlier, Part,
    mongodb::{
        Database,
        bson::{Document, doc},
    },
};
use futures_util::{Stream, TryStreamExt};
use serde::{Deserialize, Serialize};

use crate::support::{
    Book, Numbered, Timed, Windowed, on_shards, sharded, sharded_parents, timed, windowed,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "users",
    reference = "user_id",
    threshold = 5,
    extras_capacity = 10
)]
struct User {
    #[serde(rename = "_id")]
    id: i64,
    visits: i64,
    #[outlier(items, unique = user)]
    followers: Vec<Follower>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
struct Follower {
    user: i64,
    since: i64,
}

#[derive(Debug, Part)]
#[part(of = Follower)]
#[allow(dead_code, reason = "the fields are only read from the server")]
struct FollowerId {
    user: i64,
}

/// How many shards a call must ask.
const ONE: usize = 1;
const ALL: usize = 2;

/// Makes the call twice, since the first time a `mongos` may still learn where chunks are. The second one has to ask so
/// many shards.
async fn asks<T, E: Debug>(
    shards: &[Database],
    expected: usize,
    name: &str,
    call: impl AsyncFn() -> Result<T, E>,
) {
    call().await.unwrap();
    for shard in shards {
        shard.run_command(doc! { "profile": 2 }).await.unwrap();
    }
    call().await.unwrap();
    let mut asked = BTreeMap::new();
    for (n, shard) in shards.iter().enumerate() {
        shard.run_command(doc! { "profile": 0 }).await.unwrap();
        let profile = shard.collection::<Document>("system.profile");
        let of_profiler = format!("{}.system.profile", shard.name());
        // An early close of a cursor reaches all shards on which it was open.
        let others = doc! { "ns": { "$ne": of_profiler }, "command.profile": { "$exists": false } };
        let found = profile.find(others).await.unwrap();
        for operation in found.try_collect::<Vec<_>>().await.unwrap() {
            let namespace = operation.get_str("ns").unwrap().to_owned();
            asked.entry(namespace).or_insert_with(Vec::new).push(n);
        }
        profile.drop().await.unwrap();
    }
    let most = asked.values_mut().map(|shards| {
        shards.dedup();
        shards.len()
    });
    assert_eq!(most.max(), Some(expected), "{name} asks {asked:?}");
}

async fn drain<I, E, S: Stream<Item = Result<I, E>>>(
    read: impl IntoFuture<Output = bucket_runtime::Result<S>>,
) -> Result<Vec<I>, E> {
    read.await.unwrap().try_collect().await
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn each_call_for_a_key_asks_one_shard() {
    let (db, trades) = sharded::<Timed>("targets").await;
    let alone = Timed::buckets(&db).combine(false).await.unwrap();
    let filled = (0..40 * 95).map(|n| timed(n / 95, n % 95));
    trades.append_many(filled).await.unwrap();
    let next = AtomicI64::new(1000);
    let new = || timed(7, next.fetch_add(1, Relaxed));
    let large = || Timed::FIELDS.n.gte(20);
    let on = on_shards(&db).await;
    asks(&on, ONE, "append", async || trades.append(&new()).await).await;
    asks(&on, ONE, "append alone", async || {
        alone.append(&new()).await
    })
    .await;
    asks(&on, ONE, "append_many", async || {
        trades.append_many((0..25).map(|_| new())).await
    })
    .await;
    asks(&on, ONE, "page", async || {
        trades.page(&7, 4).await.map(Option::unwrap)
    })
    .await;
    asks(&on, ONE, "latest", async || {
        trades.latest(&7).await.map(Option::unwrap)
    })
    .await;
    asks(&on, ONE, "pages", async || drain(trades.pages(&7)).await).await;
    asks(&on, ONE, "items", async || drain(trades.items(&7)).await).await;
    asks(&on, ONE, "items filtered", async || {
        drain(trades.items(&7).filter(large())).await
    })
    .await;
    asks(&on, ONE, "items skipped", async || {
        drain(trades.items(&7).skip(35).limit(20)).await
    })
    .await;
    asks(&on, ONE, "items from the newest", async || {
        drain(trades.items(&7).newest_first().limit(20)).await
    })
    .await;
    let list = || trades.items(&7).filter(large()).page_of_items(3);
    let token = list().await.unwrap().next.unwrap();
    asks(&on, ONE, "page_of_items", async || {
        list().after(&token).await
    })
    .await;
    asks(&on, ONE, "count", async || trades.count(&7).await).await;
    asks(&on, ONE, "count filtered", async || {
        trades.count(&7).filter(large()).await
    })
    .await;
    asks(&on, ONE, "page_count", async || trades.page_count(&7).await).await;
    let up = |item: &mut Timed| item.n += 1;
    asks(&on, ONE, "update_item", async || {
        let updated = trades.update_item(&7, large(), up).await;
        updated.map(Option::unwrap)
    })
    .await;
    asks(&on, ONE, "remove_item", async || {
        let removed = trades.remove_item(&7, large()).await;
        removed.map(Option::unwrap)
    })
    .await;
    asks(&on, ONE, "update_items", async || {
        trades.update_items(&7, large(), up).await
    })
    .await;
    asks(&on, ONE, "remove_items", async || {
        trades.remove_items(&7, Timed::FIELDS.n.lt(15)).await
    })
    .await;
    asks(&on, ALL, "count_all", async || {
        trades.count_all().filter(large()).await
    })
    .await;
    asks(&on, ONE, "remove_key", async || trades.remove_key(&9).await).await;
    asks(&on, ALL, "all_items", async || {
        drain(trades.all_items()).await
    })
    .await;
    asks(&on, ALL, "verify", async || {
        Ops::<Timed>::of(&db).verify().await
    })
    .await;
    asks(&on, ALL, "append_many of many keys", async || {
        trades.append_many((0..200).map(|k| timed(k, 9999))).await
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn each_call_for_a_numbered_key_asks_one_shard() {
    let (db, visits) = sharded::<Numbered>("targets_numbered").await;
    let filled = (0..40 * 95).map(|n| Numbered {
        k: n / 95,
        n: n % 95,
    });
    visits.append_many(filled).await.unwrap();
    let item = Numbered { k: 7, n: 1 };
    let on = on_shards(&db).await;
    // Ten appends use every way of opening a bucket.
    asks(&on, ONE, "append", async || {
        for _ in 0..9 {
            visits.append(&item).await?;
        }
        visits.append(&item).await
    })
    .await;
    asks(&on, ONE, "append_many", async || {
        visits.append_many(vec![item.clone(); 35]).await
    })
    .await;
    asks(&on, ONE, "page", async || {
        visits.page(&7, 4).await.map(Option::unwrap)
    })
    .await;
    asks(&on, ONE, "items skipped", async || {
        drain(visits.items(&7).skip(35)).await
    })
    .await;
    asks(&on, ONE, "remove_item", async || {
        let removed = visits.remove_item(&7, Numbered::FIELDS.n.eq(1)).await;
        removed.map(Option::unwrap)
    })
    .await;
}

/// Sharded by the key. If the shard key has the window, a call asks as many shards as hold the key's
/// windows.
#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn each_call_for_a_key_with_windows_asks_one_shard() {
    let (db, readings) = sharded::<Windowed>("targets_windows").await;
    let filled = (0..40 * 95).map(|n| windowed(n / 95, n % 95));
    readings.append_many(filled).await.unwrap();
    let since = || Windowed::FIELDS.at.gte(windowed(7, 40).at);
    let on = on_shards(&db).await;
    asks(&on, ONE, "append", async || {
        readings.append(&windowed(7, 5)).await
    })
    .await;
    asks(&on, ONE, "append_many", async || {
        readings.append_many((0..50).map(|n| windowed(7, n))).await
    })
    .await;
    asks(&on, ONE, "items since", async || {
        drain(readings.items(&7).filter(since())).await
    })
    .await;
    asks(&on, ONE, "rollup", async || readings.rollup(&7).await).await;
    asks(&on, ONE, "rollup per window", async || {
        drain(readings.rollup(&7).per_windows(1)).await
    })
    .await;
    asks(&on, ALL, "rollup_all", async || readings.rollup_all().await).await;
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn each_call_for_a_parent_asks_one_shard() {
    let (db, books) = sharded_parents::<Book>("targets_outliers").await;
    for id in 0..40 {
        let buyers = Vec::from_iter(0..id);
        books.insert(&Book { id, buyers }).await.unwrap();
    }
    let next = AtomicI64::new(100);
    let on = on_shards(&db).await;
    asks(&on, ONE, "insert", async || {
        let (id, buyers) = (next.fetch_add(1, Relaxed), Vec::from_iter(0..30));
        books.insert(&Book { id, buyers }).await
    })
    .await;
    asks(&on, ONE, "push", async || books.push(&2, 7).await).await;
    asks(&on, ONE, "push to an outlier", async || {
        books.push(&39, 7).await
    })
    .await;
    asks(&on, ONE, "push_many", async || {
        books.push_many(&38, 0..25).await
    })
    .await;
    asks(&on, ONE, "get", async || {
        books.get(&39).await.map(Option::unwrap)
    })
    .await;
    asks(&on, ONE, "get_all", async || {
        books.get_all(&39).await.map(Option::unwrap)
    })
    .await;
    asks(&on, ONE, "items", async || drain(books.items(&39)).await).await;
    let item = Book::FIELDS.buyers.item();
    asks(&on, ONE, "newest items", async || {
        drain(books.items(&39).newest_first().skip(2).limit(9)).await
    })
    .await;
    asks(&on, ONE, "page_of_items", async || {
        let list = || books.items(&39).newest_first().page_of_items(3);
        let page = list().await?;
        list().after(&page.next.unwrap()).await
    })
    .await;
    asks(&on, ONE, "find_item", async || {
        let found = books.find_item(&39, item.eq(37)).await;
        found.map(Option::unwrap)
    })
    .await;
    asks(&on, ONE, "count filtered", async || {
        books.count(&39).filter(item.gt(3)).await
    })
    .await;
    asks(&on, ONE, "extras", async || drain(books.extras(&39)).await).await;
    asks(&on, ONE, "count", async || books.count(&39).await).await;
    for (name, id) in [("in the parent", 4), ("among the extras", 37)] {
        let one = || item.eq(id);
        asks(&on, ONE, &format!("update_item {name}"), async || {
            let same = books.update_item(&39, one(), |buyer| *buyer += 0);
            same.await?.unwrap();
            let changed = books.update_item(&39, one(), |buyer| *buyer += 1000);
            changed.await?.unwrap();
            let back = books.update_item(&39, item.eq(id + 1000), |buyer| *buyer = id);
            back.await.map(Option::unwrap)
        })
        .await;
        asks(&on, ONE, &format!("remove_item {name}"), async || {
            books.push(&39, 2000 + id).await?;
            let removed = books.remove_item(&39, item.gte(2000)).await;
            removed.map(Option::unwrap)
        })
        .await;
    }
    asks(&on, ONE, "update_items", async || {
        let all = books.update_items(&39, item.gt(3), |buyer| *buyer += 1);
        all.await
    })
    .await;
    asks(&on, ONE, "remove_items", async || {
        books.remove_items(&39, item.is_in([3, 30])).await
    })
    .await;
    asks(&on, ONE, "delete", async || books.delete(&39).await).await;
    asks(&on, ALL, "find", async || drain(books.find(doc! {})).await).await;
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn each_call_for_a_parent_with_unique_items_asks_one_shard() {
    let (db, users) = sharded_parents::<User>("targets_unique").await;
    let follower = |user, since| Follower { user, since };
    for id in 0..40 {
        let followers = (0..id).map(|user| follower(user, 0)).collect();
        let user = User {
            id,
            visits: 0,
            followers,
        };
        users.insert(&user).await.unwrap();
    }
    let on = on_shards(&db).await;
    asks(&on, ONE, "update", async || {
        users.update(&39, |user| user.visits += 1).await
    })
    .await;
    let parts = || users.items(&39).parts::<FollowerId>();
    asks(&on, ONE, "parts", async || drain(parts()).await).await;
    asks(&on, ONE, "page_of_parts", async || {
        parts().page_of_items(7).await
    })
    .await;
    let next = AtomicI64::new(100);
    let new = || next.fetch_add(1, Relaxed);
    for (name, user) in [("in the parent", 3), ("among the extras", 30)] {
        asks(&on, ONE, &format!("upsert_item {name}"), async || {
            users.upsert_item(&39, follower(user, new())).await
        })
        .await;
    }
    asks(&on, ONE, "upsert_item of a new one", async || {
        users.upsert_item(&39, follower(new(), 1)).await?;
        users.upsert_item(&2, follower(new(), 1)).await
    })
    .await;
}

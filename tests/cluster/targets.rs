//! How many shards each call asks: one for each call for a key, as the shards' own profilers report.

use std::collections::BTreeMap;

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

use crate::support::{Book, Numbered, Timed, Windowed, database, on_shards, timed, windowed};

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

struct Profiled {
    db: Database,
    shards: Vec<Database>,
    wrong: Vec<String>,
}

impl Profiled {
    async fn new(db: Database) -> Self {
        let shards = on_shards(&db).await;
        Self {
            db,
            shards,
            wrong: Vec::new(),
        }
    }

    /// Makes the call twice, since the first time a `mongos` may still learn where chunks are. Records
    /// an error if the second call asks another number of shards.
    async fn asks<T>(&mut self, shards: usize, name: &str, call: impl AsyncFn() -> T) {
        call().await;
        for shard in &self.shards {
            shard.run_command(doc! { "profile": 2 }).await.unwrap();
        }
        call().await;
        let mut asked = BTreeMap::new();
        for (n, shard) in self.shards.iter().enumerate() {
            shard.run_command(doc! { "profile": 0 }).await.unwrap();
            let profile = shard.collection::<Document>("system.profile");
            let of_profiler = format!("{}.system.profile", self.db.name());
            // An early close of a cursor reaches all shards on which it was open.
            let others =
                doc! { "ns": { "$ne": of_profiler }, "command.profile": { "$exists": false } };
            let found: Vec<_> = profile
                .find(others)
                .await
                .unwrap()
                .try_collect()
                .await
                .unwrap();
            for operation in found {
                let namespace = operation.get_str("ns").unwrap().to_owned();
                asked.entry(namespace).or_insert_with(Vec::new).push(n);
            }
            profile.drop().await.unwrap();
        }
        let most = asked.values_mut().map(|shards| {
            shards.dedup();
            shards.len()
        });
        if most.max() != Some(shards) {
            self.wrong
                .push(format!("{name} asks {asked:?}, not {shards}"));
        }
    }

    fn assert_right(self) {
        assert!(self.wrong.is_empty(), "{:#?}", self.wrong);
    }
}

async fn drain<I, E: std::fmt::Debug>(stream: impl Stream<Item = Result<I, E>>) {
    stream.try_collect::<Vec<_>>().await.unwrap();
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn each_call_for_a_key_asks_one_shard() {
    let db = database("targets").await;
    Timed::create_collection(&db)
        .sharded_hashed()
        .await
        .unwrap();
    let trades = Timed::buckets(&db).await.unwrap();
    let alone = Timed::buckets(&db).combine(false).await.unwrap();
    for k in 0..40 {
        trades
            .append_many((0..95).map(|n| timed(k, n)))
            .await
            .unwrap();
    }
    let next = std::sync::atomic::AtomicI64::new(1000);
    let new = || timed(7, next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let large = || Timed::FIELDS.n.gte(20);
    let mut profiled = Profiled::new(db.clone()).await;
    profiled
        .asks(ONE, "append", async || trades.append(&new()).await.unwrap())
        .await;
    profiled
        .asks(ONE, "append alone", async || {
            alone.append(&new()).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "append_many", async || {
            trades.append_many((0..25).map(|_| new())).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "page", async || {
            trades.page(&7, 4).await.unwrap().unwrap()
        })
        .await;
    profiled
        .asks(ONE, "latest", async || {
            trades.latest(&7).await.unwrap().unwrap()
        })
        .await;
    profiled
        .asks(ONE, "pages", async || {
            drain(trades.pages(&7).await.unwrap()).await
        })
        .await;
    profiled
        .asks(ONE, "items", async || {
            drain(trades.items(&7).await.unwrap()).await
        })
        .await;
    profiled
        .asks(ONE, "items filtered", async || {
            drain(trades.items(&7).filter(large()).await.unwrap()).await;
        })
        .await;
    profiled
        .asks(ONE, "items skipped", async || {
            drain(trades.items(&7).skip(35).limit(20).await.unwrap()).await;
        })
        .await;
    profiled
        .asks(ONE, "items from the newest", async || {
            drain(trades.items(&7).newest_first().limit(20).await.unwrap()).await;
        })
        .await;
    let list = || trades.items(&7).filter(large()).page_of_items(3);
    let token = list().await.unwrap().next.unwrap();
    profiled
        .asks(ONE, "page_of_items", async || {
            list().after(&token).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "count", async || trades.count(&7).await.unwrap())
        .await;
    profiled
        .asks(ONE, "count filtered", async || {
            trades.count(&7).filter(large()).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "page_count", async || {
            trades.page_count(&7).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "update_item", async || {
            trades
                .update_item(&7, large(), |item| item.n += 1)
                .await
                .unwrap()
                .unwrap()
        })
        .await;
    profiled
        .asks(ONE, "remove_item", async || {
            trades.remove_item(&7, large()).await.unwrap().unwrap()
        })
        .await;
    profiled
        .asks(ONE, "update_items", async || {
            let up = |item: &mut Timed| item.n += 1;
            trades.update_items(&7, large(), up).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "remove_items", async || {
            let some = Timed::FIELDS.n.lt(15);
            trades.remove_items(&7, some).await.unwrap()
        })
        .await;
    profiled
        .asks(ALL, "count_all", async || {
            trades.count_all().filter(large()).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "remove_key", async || {
            trades.remove_key(&9).await.unwrap()
        })
        .await;
    profiled
        .asks(ALL, "all_items", async || {
            drain(trades.all_items().await.unwrap()).await
        })
        .await;
    profiled
        .asks(ALL, "verify", async || {
            Ops::<Timed>::of(&db).verify().await.unwrap()
        })
        .await;
    profiled
        .asks(ALL, "append_many of many keys", async || {
            trades
                .append_many((0..200).map(|k| timed(k, 9999)))
                .await
                .unwrap()
        })
        .await;
    profiled.assert_right();
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn each_call_for_a_numbered_key_asks_one_shard() {
    let db = database("targets_numbered").await;
    Numbered::create_collection(&db)
        .sharded_hashed()
        .await
        .unwrap();
    let visits = Numbered::buckets(&db).await.unwrap();
    for k in 0..40 {
        visits
            .append_many((0..95).map(|n| Numbered { k, n }))
            .await
            .unwrap();
    }
    let item = Numbered { k: 7, n: 1 };
    let mut profiled = Profiled::new(db).await;
    // Ten appends use every way of opening a bucket.
    profiled
        .asks(ONE, "append", async || {
            for _ in 0..10 {
                visits.append(&item).await.unwrap();
            }
        })
        .await;
    profiled
        .asks(ONE, "append_many", async || {
            visits.append_many(vec![item.clone(); 35]).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "page", async || {
            visits.page(&7, 4).await.unwrap().unwrap()
        })
        .await;
    profiled
        .asks(ONE, "items skipped", async || {
            drain(visits.items(&7).skip(35).await.unwrap()).await;
        })
        .await;
    profiled
        .asks(ONE, "remove_item", async || {
            visits
                .remove_item(&7, Numbered::FIELDS.n.eq(1))
                .await
                .unwrap()
                .unwrap()
        })
        .await;
    profiled.assert_right();
}

/// Sharded by the key. If the shard key has the window, a call asks as many shards as hold the key's
/// windows.
#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn each_call_for_a_key_with_windows_asks_one_shard() {
    let db = database("targets_windows").await;
    Windowed::create_collection(&db)
        .sharded_hashed()
        .await
        .unwrap();
    let readings = Windowed::buckets(&db).await.unwrap();
    for k in 0..40 {
        readings
            .append_many((0..95).map(|n| windowed(k, n)))
            .await
            .unwrap();
    }
    let since = || Windowed::FIELDS.at.gte(windowed(7, 40).at);
    let mut profiled = Profiled::new(db).await;
    profiled
        .asks(ONE, "append", async || {
            readings.append(&windowed(7, 5)).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "append_many", async || {
            readings
                .append_many((0..50).map(|n| windowed(7, n)))
                .await
                .unwrap()
        })
        .await;
    profiled
        .asks(ONE, "items since", async || {
            drain(readings.items(&7).filter(since()).await.unwrap()).await;
        })
        .await;
    profiled
        .asks(ONE, "rollup", async || readings.rollup(&7).await.unwrap())
        .await;
    profiled
        .asks(ONE, "rollup per window", async || {
            drain(readings.rollup(&7).per_windows(1).await.unwrap()).await
        })
        .await;
    profiled
        .asks(ALL, "rollup_all", async || {
            readings.rollup_all().await.unwrap()
        })
        .await;
    profiled.assert_right();
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn each_call_for_a_parent_asks_one_shard() {
    let db = database("targets_outliers").await;
    Book::create_collections(&db)
        .sharded_hashed()
        .await
        .unwrap();
    let books = Book::outliers(&db).await.unwrap();
    for id in 0..40 {
        let buyers = Vec::from_iter(0..id);
        books.insert(&Book { id, buyers }).await.unwrap();
    }
    let next = std::sync::atomic::AtomicI64::new(100);
    let mut profiled = Profiled::new(db).await;
    profiled
        .asks(ONE, "insert", async || {
            let id = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            books
                .insert(&Book {
                    id,
                    buyers: Vec::from_iter(0..30),
                })
                .await
                .unwrap()
        })
        .await;
    profiled
        .asks(ONE, "push", async || books.push(&2, 7).await.unwrap())
        .await;
    profiled
        .asks(ONE, "push to an outlier", async || {
            books.push(&39, 7).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "push_many", async || {
            books.push_many(&38, 0..25).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "get", async || books.get(&39).await.unwrap().unwrap())
        .await;
    profiled
        .asks(ONE, "get_all", async || {
            books.get_all(&39).await.unwrap().unwrap()
        })
        .await;
    profiled
        .asks(ONE, "items", async || {
            drain(books.items(&39).await.unwrap()).await
        })
        .await;
    let item = Book::FIELDS.buyers.item();
    profiled
        .asks(ONE, "newest items", async || {
            let newest = books.items(&39).newest_first().skip(2).limit(9);
            drain(newest.await.unwrap()).await
        })
        .await;
    profiled
        .asks(ONE, "page_of_items", async || {
            let list = || books.items(&39).newest_first().page_of_items(3);
            let page = list().await.unwrap();
            list().after(&page.next.unwrap()).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "find_item", async || {
            books.find_item(&39, item.eq(37)).await.unwrap().unwrap()
        })
        .await;
    profiled
        .asks(ONE, "count filtered", async || {
            books.count(&39).filter(item.gt(3)).await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "extras", async || {
            drain(books.extras(&39).await.unwrap()).await
        })
        .await;
    profiled
        .asks(ONE, "count", async || books.count(&39).await.unwrap())
        .await;
    for (name, id) in [("in the parent", 4), ("among the extras", 37)] {
        let one = || item.eq(id);
        profiled
            .asks(ONE, &format!("update_item {name}"), async || {
                let same = books.update_item(&39, one(), |buyer| *buyer += 0);
                same.await.unwrap().unwrap();
                let changed = books.update_item(&39, one(), |buyer| *buyer += 1000);
                changed.await.unwrap().unwrap();
                let back = books.update_item(&39, item.eq(id + 1000), |buyer| *buyer = id);
                back.await.unwrap().unwrap()
            })
            .await;
        profiled
            .asks(ONE, &format!("remove_item {name}"), async || {
                books.push(&39, 2000 + id).await.unwrap();
                let removed = books.remove_item(&39, item.gte(2000)).await.unwrap();
                removed.unwrap()
            })
            .await;
    }
    profiled
        .asks(ONE, "update_items", async || {
            let all = books.update_items(&39, item.gt(3), |buyer| *buyer += 1);
            all.await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "remove_items", async || {
            let some = books.remove_items(&39, item.is_in([3, 30]));
            some.await.unwrap()
        })
        .await;
    profiled
        .asks(ONE, "delete", async || books.delete(&39).await.unwrap())
        .await;
    profiled
        .asks(ALL, "find", async || {
            drain(books.find(doc! {}).await.unwrap()).await
        })
        .await;
    profiled.assert_right();
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn each_call_for_a_parent_with_unique_items_asks_one_shard() {
    let db = database("targets_unique").await;
    User::create_collections(&db)
        .sharded_hashed()
        .await
        .unwrap();
    let users = User::outliers(&db).await.unwrap();
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
    let mut profiled = Profiled::new(db).await;
    profiled
        .asks(ONE, "update", async || {
            users.update(&39, |user| user.visits += 1).await.unwrap()
        })
        .await;
    let parts = || users.items(&39).parts::<FollowerId>();
    profiled
        .asks(ONE, "parts", async || drain(parts().await.unwrap()).await)
        .await;
    profiled
        .asks(ONE, "page_of_parts", async || {
            parts().page_of_items(7).await.unwrap()
        })
        .await;
    let next = std::sync::atomic::AtomicI64::new(100);
    let new = || next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    for (name, user) in [("in the parent", 3), ("among the extras", 30)] {
        profiled
            .asks(ONE, &format!("upsert_item {name}"), async || {
                let changed = users.upsert_item(&39, follower(user, new()));
                changed.await.unwrap()
            })
            .await;
    }
    profiled
        .asks(ONE, "upsert_item of a new one", async || {
            let one = users.upsert_item(&39, follower(new(), 1)).await;
            (
                one.unwrap(),
                users.upsert_item(&2, follower(new(), 1)).await,
            )
        })
        .await;
    profiled.assert_right();
}

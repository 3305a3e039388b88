//! 12 writers send the same items to parents that cross the threshold meanwhile.

use std::{future::IntoFuture, time::Duration};

use bucket_runtime::{
    Appended, Outliers,
    mongodb::{Database, bson::doc},
};
use rand::{Rng, seq::SliceRandom};
use tokio::time::timeout;

use super::support::{
    Counted20, CountedPlain3, Followed, Plain20, Text3, User3, User20, assert_each_once,
};
use crate::{
    outlier::support::{fresh, remove, repaired, verify},
    support::{database::Live, tasks::JoinSet},
};

const WRITERS: i64 = 12;
const ITEMS: i64 = 60;

/// The items whose pushes are dropped, some more than a parent holds.
const DROPPED: i64 = 28;

/// Handles as several processes would have them.
async fn opened<T: Followed>(db: &Database) -> Vec<Outliers<T>> {
    let mut opened = vec![fresh::<T>(db).await];
    for _ in 0..2 {
        opened.push(T::outliers(db).await.unwrap());
    }
    opened
}

/// All items in an order of the writer's own: one at a time, or for every third writer several at once, some of them
/// twice. Returns how many it stored.
async fn send<T: Followed>(users: Outliers<T>, writer: i64) -> u64 {
    let mut all: Vec<_> = (0..ITEMS).collect();
    all.shuffle(&mut rand::rng());
    let mut stored = 0;
    if writer % 3 == 0 {
        for part in all.chunks(9) {
            let twice = part.iter().chain(&part[..3]);
            let part = twice.map(|user| T::follower(*user, writer));
            stored += users.push_many(&1, part).await.unwrap();
        }
        return stored;
    }
    for user in all {
        let pushed = users.push(&1, T::follower(user, writer)).await.unwrap();
        stored += u64::from(pushed == Appended::Stored);
    }
    stored
}

/// Exactly one of the calls for an item says that it stored it.
async fn race<T: Followed>(db: &Database, begin: i64) {
    let opened = opened::<T>(db).await;
    opened[0].insert(&T::new(1, 0..begin)).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(send(opened[writer as usize % 3].clone(), writer));
    }
    let stored: u64 = writers.join_all().await.into_iter().sum();
    assert_each_once(&opened[0], 1, 0..ITEMS).await;
    assert_eq!(stored as i64, ITEMS - begin);
    assert_eq!(verify(&opened[0]).await.unwrap(), []);
}

#[bucket_testkit::test(multi_thread)]
async fn o1_twelve_writers_of_the_same_items_store_each_once(db: Live) {
    race::<User20>(&db, 15).await;
    race::<User3>(&db, 0).await;
    race::<Plain20>(&db, 0).await;
    race::<Text3>(&db, 2).await;
}

#[bucket_testkit::test(multi_thread)]
async fn o1_twelve_writers_store_each_item_once_beside_a_total(db: Live) {
    race::<Counted20>(&db, 0).await;
    race::<CountedPlain3>(&db, 3).await;
}

/// Every call may be dropped, and is repeated until it is answered.
async fn dropped<T: Followed>(db: &Database) {
    let opened = opened::<T>(db).await;
    opened[0].insert(&T::new(1, [])).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let users = opened[writer as usize % 3].clone();
        writers.spawn(async move {
            let mut all: Vec<_> = (0..DROPPED).collect();
            all.shuffle(&mut rand::rng());
            for user in all {
                for n in 0.. {
                    let patience = rand::rng().random_range(0..8000) << n;
                    let push = users.push(&1, T::follower(user, writer)).into_future();
                    let pushed = timeout(Duration::from_micros(patience), push).await;
                    if let Ok(pushed) = pushed {
                        pushed.unwrap();
                        break;
                    }
                }
            }
        });
    }
    writers.join_all().await;
    assert_each_once(&opened[0], 1, 0..DROPPED).await;
    assert_eq!(verify(&opened[0]).await.unwrap(), []);
}

#[bucket_testkit::test(multi_thread)]
async fn o1_dropped_pushes_can_be_repeated_without_a_check(db: Live) {
    dropped::<User20>(&db).await;
    dropped::<Counted20>(&db).await;
}

/// Items are removed, parents are split, and items are replaced meanwhile.
async fn upheaval<T: Followed>(db: &Database) {
    let opened = opened::<T>(db).await;
    let users = &opened[0];
    users.insert(&T::new(1, 0..5)).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let users = opened[writer as usize % 3].clone();
        writers.spawn(async move {
            for n in 0..ITEMS {
                let user = rand::rng().random_range(0..ITEMS);
                match (writer + n) % 6 {
                    0 => drop(remove(&users, &1, T::follower(user, 0)).await.unwrap()),
                    1 => drop(users.upsert_item(&1, T::follower(user, 0)).await.unwrap()),
                    2 if n % 10 == 0 => drop(repaired(&users).await.unwrap()),
                    _ => drop(users.push(&1, T::follower(user, 0)).await.unwrap()),
                }
            }
        });
    }
    writers.join_all().await;
    assert_eq!(verify(users).await.unwrap(), []);
    let all = (0..ITEMS).map(|user| T::follower(user, 0));
    users.push_many(&1, all).await.unwrap();
    assert_each_once(users, 1, 0..ITEMS).await;
}

#[bucket_testkit::test(multi_thread)]
async fn o1_items_are_there_once_while_others_are_removed_and_replaced(db: Live) {
    upheaval::<User3>(&db).await;
    upheaval::<Counted20>(&db).await;
}

/// A parent that has grown too large is split while others push what it holds.
#[bucket_testkit::test(multi_thread)]
async fn o1_a_split_beside_pushes_leaves_each_item_once(db: Live) {
    for _ in 0..5 {
        let opened = opened::<User20>(&db).await;
        let followers = (0..ITEMS).map(|user| doc! { "userId": user, "since": 0_i64 });
        let user = doc! { "_id": 1_i64, "followers": followers.collect::<Vec<_>>() };
        opened[0].collection().insert_one(user).await.unwrap();
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            writers.spawn(send(opened[writer as usize % 3].clone(), writer));
        }
        repaired(&opened[0]).await.unwrap();
        let stored: u64 = writers.join_all().await.into_iter().sum();
        assert_eq!(stored, 0);
        assert_each_once(&opened[0], 1, 0..ITEMS).await;
    }
}

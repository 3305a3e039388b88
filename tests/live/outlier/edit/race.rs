//! O1 to O5 while several tasks push, change and remove the same items, and drop some of their calls.

use std::{
    collections::BTreeMap,
    future::IntoFuture,
    sync::Arc,
    sync::atomic::{AtomicI64, Ordering::Relaxed},
    time::Duration,
};

use bucket_runtime::{
    Outliers, Result,
    mongodb::{
        Database,
        bson::{Bson, Document},
    },
};
use rand::Rng;
use tokio::time::timeout;

use super::{is, stored};
use crate::{
    outlier::{
        identity::support::{Counted5, Followed, Follower, User5, follower},
        support::{fresh, verify},
    },
    support::{
        database::{Live, number},
        tasks::JoinSet,
    },
};

const USERS: i64 = 40;
const WRITERS: i64 = 9;

/// What the tasks know of a follower.
#[derive(Default)]
struct Known {
    /// The changes that were acknowledged, and those that were tried.
    changed: AtomicI64,
    tried: AtomicI64,
    /// How many removals returned the follower, and how many were dropped.
    removed: AtomicI64,
    maybe_removed: AtomicI64,
}

/// The answer of a call, unless it is dropped first.
async fn answer<O>(call: impl IntoFuture<Output = O>, drops: bool) -> Option<O> {
    if !drops {
        return Some(call.await);
    }
    let patience = Duration::from_micros(rand::rng().random_range(0..6_000));
    timeout(patience, call.into_future()).await.ok()
}

async fn write<T: Followed<Item = Follower>>(
    users: Outliers<T>,
    known: Arc<Vec<Known>>,
    writer: i64,
) {
    for n in 0..60 {
        let user = rand::rng().random_range(0..USERS);
        let drops = (writer + n) % 4 == 0;
        let of = &known[user as usize];
        let up = |item: &mut Follower| item.since += 1;
        match (writer + n) % 3 {
            0 if n % 4 == 0 => {
                let removed: Option<Result<_>> =
                    answer(users.remove_item(&1, is(user)), drops).await;
                match removed {
                    None => drop(of.maybe_removed.fetch_add(1, Relaxed)),
                    Some(removed) => {
                        let removed = removed.unwrap().is_some();
                        of.removed.fetch_add(removed.into(), Relaxed);
                    }
                }
            }
            1 if n % 5 == 0 => {
                of.tried.fetch_add(1, Relaxed);
                let changed = answer(users.update_items(&1, is(user), up), drops).await;
                let changed = changed.map_or(0, |changed| changed.unwrap());
                of.changed.fetch_add(changed as i64, Relaxed);
            }
            _ => {
                of.tried.fetch_add(1, Relaxed);
                let changed = answer(users.update_item(&1, is(user), up), drops).await;
                let changed = changed.is_some_and(|changed| changed.unwrap().is_some());
                of.changed.fetch_add(changed.into(), Relaxed);
            }
        }
    }
}

/// Both collections when no dropped call goes on any more.
async fn settled<T: Followed>(users: &Outliers<T>) -> [Vec<Document>; 2] {
    loop {
        let before = stored(users).await;
        let problems = verify(users).await.unwrap();
        if stored(users).await == before {
            assert_eq!(problems, []);
            return before;
        }
    }
}

/// The followers that are stored, in order, and how often each was changed.
async fn survivors<T: Followed>(users: &Outliers<T>) -> Vec<(i64, i64)> {
    let [mut parents, pages] = settled(users).await;
    let parent = parents.remove(0);
    let spec = T::SPEC;
    let mut all = Vec::new();
    let own = parent.get_array(spec.items).unwrap().clone();
    assert!(own.len() <= spec.threshold as usize, "O2: {parent}");
    all.extend(own);
    let pages = pages.into_iter();
    let extras = pages.map(|page| (page.get_str("_id").unwrap().to_owned(), page));
    let extras = BTreeMap::from_iter(extras);
    let is_flagged = parent.get(spec.flag) == Some(&Bson::Boolean(true));
    assert!(extras.is_empty() || is_flagged, "O3: {parent}");
    for page in extras.values() {
        let items = page.get_array(spec.extra_items).unwrap();
        assert_eq!(number(page.get("count")), items.len() as i64, "O4: {page}");
        all.extend(items.clone());
    }
    if let Some(total) = spec.total {
        assert_eq!(number(parent.get(total)), all.len() as i64, "the total");
    }
    let read = |item: &Bson| {
        let item = item.as_document().unwrap();
        (number(item.get("userId")), number(item.get("since")))
    };
    all.iter().map(read).collect()
}

/// One task pushes the followers one after the other, the others change and remove them.
async fn race<T: Followed<Item = Follower>>(db: &Database) {
    let users = fresh::<T>(db).await;
    users.insert(&T::new(1, 0..3)).await.unwrap();
    let known: Arc<Vec<Known>> = Arc::new((0..USERS).map(|_| Known::default()).collect());
    let mut tasks = JoinSet::new();
    for writer in 0..WRITERS {
        let users = T::outliers(db).await.unwrap();
        tasks.spawn(write(users, known.clone(), writer));
    }
    let pushing = users.clone();
    tasks.spawn(async move {
        for user in 3..USERS {
            pushing.push(&1, follower(user, 0)).await.unwrap();
        }
    });
    tasks.join_all().await;

    let left = survivors(&users).await;
    let order: Vec<_> = left.iter().map(|(user, _)| *user).collect();
    assert!(order.is_sorted_by(|a, b| a < b), "O1, O5: {order:?}");
    let left: BTreeMap<_, _> = left.into_iter().collect();
    for (user, known) in (0..).zip(known.iter()) {
        let [removed, maybe] = [&known.removed, &known.maybe_removed].map(|n| n.load(Relaxed));
        let [changed, tried] = [&known.changed, &known.tried].map(|n| n.load(Relaxed));
        assert!(removed <= 1, "O1: {user} was removed {removed} times");
        match left.get(&user) {
            Some(visits) => {
                assert_eq!(removed, 0, "O1: {user} came back");
                assert!((changed..=tried).contains(visits), "{user}: {visits}");
            }
            None => assert!(removed + maybe > 0, "O1: {user} is lost"),
        }
    }
}

#[bucket_testkit::test(multi_thread)]
async fn o1_edits_beside_pushes_lose_nothing(db: Live) {
    race::<User5>(&db).await;
}

#[bucket_testkit::test(multi_thread)]
async fn o1_edits_beside_pushes_keep_the_total(db: Live) {
    race::<Counted5>(&db).await;
}

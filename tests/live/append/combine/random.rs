//! G1, G2 and G3 with combining, under any mixture: several handles, some that do not combine and some
//! that append many at once; a few frequent keys among many; every ordinal.

use bucket_runtime::mongodb::Database;
use futures_util::future::join_all;
use rand::Rng;

use crate::{
    append::combine::support::{
        Mark, Millis2, NOON, Numbered1, Numbered2, Numbered10, Seconds1, Seconds2, Seconds10,
        assert_stored,
    },
    support::{
        database::{Live, dense, fresh, snapshot},
        scale::scaled,
        tasks::JoinSet,
    },
};

const WRITERS: i64 = 10;
const KEYS: i64 = 60;

/// A random key: the first is as frequent as the next two together, which are as frequent as the next
/// four …
fn key() -> i64 {
    let mut random = rand::rng();
    let most = 1 << random.random_range(1..7);
    random.random_range(0..most.min(KEYS))
}

/// One writer's items, in portions that are appended at the same time. Their times lie within seconds
/// and within hours.
fn portions<T: Mark>(writer: i64) -> Vec<Vec<T>> {
    let mut random = rand::rng();
    let spread = [1, 3_000, 10_000_000][random.random_range(0..3)];
    let mut ns = (0..).map(|n| writer * 10_000 + n);
    (0..random.random_range(5..15))
        .map(|_| {
            let size = [1, 1, 2, 5, 30][random.random_range(0..5)];
            let time = |_| NOON + rand::rng().random_range(0..spread);
            (ns.by_ref().take(size))
                .map(|n| T::new(key(), n).at(time(n)))
                .collect()
        })
        .collect()
}

async fn mixture<T: Mark>(db: &Database) {
    let marks = fresh::<T>(db).await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let own = match writer % 5 {
            0 => T::buckets(db).await.unwrap(),
            1 => T::buckets(db).combine(false).await.unwrap(),
            _ => marks.clone(),
        };
        writers.spawn(async move {
            let mut acknowledged = Vec::new();
            for portion in portions::<T>(writer) {
                acknowledged.extend(portion.iter().map(|item| (item.k(), item.n())));
                if writer == 2 {
                    own.append_many(portion).await.unwrap();
                } else {
                    let appends = portion.iter().map(|item| own.append(item).into_future());
                    for result in join_all(appends).await {
                        result.unwrap();
                    }
                }
            }
            acknowledged
        });
    }
    // The buckets are dense at every moment.
    let mut acknowledged = Vec::new();
    while let Some(of_one) = writers.join_next().await {
        acknowledged.extend(of_one.unwrap());
        dense::<T>(snapshot(marks.collection()).await.unwrap_or_default());
    }
    assert_stored(&marks, acknowledged).await;
}

macro_rules! mixtures {
    ($($test:ident: $($name:ident)+;)+) => {$(
        #[bucket_testkit::test(multi_thread)]
        async fn $test(db: Live) {
            for _ in 0..scaled(4) {
                $(mixture::<$name>(&db).await;)+
            }
        }
    )+};
}

mixtures! {
    seconds: Seconds1 Seconds2 Seconds10;
    millis: Millis2;
    numbered: Numbered1 Numbered2 Numbered10;
}

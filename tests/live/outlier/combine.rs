//! Combining: pushes that wait at the same time travel together, those to one parent and those to different ones,
//! and each caller learns what happened to its own item.

use std::{future::IntoFuture, time::Duration};

use bucket_runtime::{
    Appended, Error, Outliers,
    mongodb::bson::{Bson, doc},
};
use futures_util::future::join_all;
use rand::Rng;

use crate::{
    outlier::{
        events::at_rest,
        support::{Book, Book3x2, Book3x100, Book1000x100, dense, fresh, items},
    },
    support::{
        database::{Live, Record, Recorded},
        tasks::JoinSet,
    },
};

/// More than the parent holds of its own.
const N: i64 = 200;

async fn together<T: Book>(books: &Outliers<T>, items: &[i64]) -> Vec<Result<Appended, Error>> {
    let pushes = items.iter().map(|item| books.push(&7, *item).into_future());
    join_all(pushes).await
}

/// Lets the server refuse an item of 1000 or more.
async fn refuse_large<T: Book>(db: &Live, books: &Outliers<T>) {
    let validator = doc! { "buyers": { "$not": { "$gte": 1000 } } };
    let change = doc! { "collMod": books.collection().name(), "validator": validator };
    db.run_command(change).await.unwrap();
}

/// How many items each update pushes.
fn writes(record: &Record) -> Vec<usize> {
    let commands = record.take().into_iter();
    let updates = commands.filter_map(|command| command.get_array("updates").ok().cloned());
    let pushed = |update: Bson| {
        let update = update.as_document()?.get_document("u").ok()?;
        let pushed = update.get_document("$push").ok()?.values().next()?;
        Some(pushed.as_document()?.get_array("$each").ok()?.len())
    };
    updates.flatten().filter_map(pushed).collect()
}

async fn few_commands<T: Book>(Recorded(db, record): &Recorded, most: usize, alone: usize) {
    let books = fresh::<T>(db).await;
    books.insert(&T::new(7, vec![])).await.unwrap();
    let numbers: Vec<_> = (0..N).collect();
    record.take();
    for result in together(&books, &numbers).await {
        assert_eq!(result.unwrap(), Appended::Stored);
    }
    let carried = writes(record);
    assert!(carried.len() <= most, "{carried:?}");
    let mut stored = items(&books, 7).await;
    stored.sort_unstable();
    assert_eq!(stored, numbers, "O1");
    dense(&books).await;

    // Alone: the push finds nobody to wait for.
    record.take();
    for n in 0..3 {
        books.push(&7, N + n).await.unwrap();
        assert_eq!(record.take().len(), alone, "commands of one push");
    }
    assert_eq!(items(&books, 7).await.len() as i64, N + 3, "O1");
}

#[bucket_testkit::test]
async fn pushes_that_wait_for_one_parent_travel_together(recorded: Recorded) {
    few_commands::<Book1000x100>(&recorded, 6, 1).await;
    // A push to an outlier looks whether the parent is there.
    few_commands::<Book3x100>(&recorded, 12, 2).await;
}

/// Parents of every kind, to each of which one push waits: with room, full, known as outliers, with an item that
/// their validator refuses, and missing.
#[bucket_testkit::test]
async fn o1_each_of_many_parents_gets_its_own_result(db: Live) {
    let books = fresh::<Book3x100>(&db).await;
    for id in 0..N {
        let buyers = match id % 5 {
            0 | 3 => vec![],
            1 => vec![1, 2, 3],
            2 => vec![1, 2, 3, 4],
            _ => continue,
        };
        books.insert(&Book3x100::new(id, buyers)).await.unwrap();
    }
    refuse_large(&db, &books).await;
    let item = |id: i64| if id % 5 == 3 { 1000 } else { 9 };
    let pushes = (0..N).map(|id| books.push(&id, item(id)).into_future());
    let results = join_all(pushes).await;
    for (id, result) in (0..N).zip(results) {
        match (id % 5, result) {
            (0..=2, result) => assert_eq!(result.unwrap(), Appended::Stored, "{id}"),
            (3, result) => assert!(!result.unwrap_err().is_maybe_stored(), "{id}"),
            (_, result) => assert!(result.unwrap_err().is_not_found(), "{id}"),
        }
    }
    let stored = dense(&books).await;
    for id in 0..N {
        let expected: &[i64] = match id % 5 {
            0 => &[9],
            1 => &[1, 2, 3, 9],
            2 => &[1, 2, 3, 4, 9],
            3 => &[],
            _ => {
                assert!(!stored.contains_key(&id), "a push inserted the parent {id}");
                continue;
            }
        };
        assert_eq!(stored[&id].all(), expected, "O1: {id}");
    }
}

/// One push to each of many parents takes few commands.
#[bucket_testkit::test]
async fn a_command_carries_pushes_to_many_parents(Recorded(db, record): Recorded) {
    let books = fresh::<Book3x100>(&db).await;
    for id in 0..N {
        books.insert(&Book3x100::new(id, vec![])).await.unwrap();
    }
    for round in 0..3 {
        record.take();
        let pushes = (0..N).map(|id| books.push(&id, round).into_future());
        for result in join_all(pushes).await {
            assert_eq!(result.unwrap(), Appended::Stored);
        }
        let commands = record.take().len();
        assert!(commands <= 8, "{commands} commands in round {round}");
    }
    let stored = dense(&books).await;
    assert!(
        stored.values().all(|stored| stored.all() == [0, 1, 2]),
        "O1"
    );
}

/// A validator refuses some items; pushes that travel with them are stored.
#[bucket_testkit::test]
async fn o1_only_the_refused_item_fails(db: Live) {
    let books = fresh::<Book1000x100>(&db).await;
    books.insert(&Book1000x100::new(7, vec![])).await.unwrap();
    refuse_large(&db, &books).await;
    let numbers: Vec<_> = (0..20)
        .map(|n| if n % 7 == 3 { 1000 + n } else { n })
        .collect();
    let results = together(&books, &numbers).await;
    for (n, result) in numbers.iter().zip(results) {
        match result {
            Ok(appended) => assert_eq!((appended, *n < 1000), (Appended::Stored, true), "{n}"),
            Err(error) => {
                assert!(*n >= 1000, "{n}: {error}");
                assert!(!error.is_maybe_stored(), "{error}");
                assert_eq!(error.key(), Some("\"7\""));
            }
        }
    }
    let mut stored = items(&books, 7).await;
    stored.sort_unstable();
    let good = numbers.into_iter().filter(|n| *n < 1000);
    assert_eq!(stored, Vec::from_iter(good), "O1");
}

/// 200 pushes at the same time, half of them dropped at random moments.
#[bucket_testkit::test(multi_thread)]
async fn o1_pushes_beside_dropped_ones_are_stored_once(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    books.insert(&Book3x2::new(7, vec![])).await.unwrap();
    let mut callers = JoinSet::new();
    for n in 0..N {
        let books = books.clone();
        let limit = (n % 2 == 1).then(|| rand::rng().random_range(0..15_000));
        callers.spawn(async move {
            let push = books.push(&7, n).into_future();
            let Some(limit) = limit else {
                push.await.unwrap();
                return Some(n);
            };
            let pushed = tokio::time::timeout(Duration::from_micros(limit), push).await;
            pushed.ok().map(|result| result.unwrap()).map(|_| n)
        });
    }
    let acknowledged = callers.join_all().await;
    at_rest(&books).await;
    dense(&books).await;
    let mut stored = items(&books, 7).await;
    stored.sort_unstable();
    assert!(
        stored.windows(2).all(|pair| pair[0] < pair[1]),
        "stored twice"
    );
    for n in acknowledged.into_iter().flatten() {
        assert!(stored.contains(&n), "O1: {n} was acknowledged");
    }
}

//! A call is stopped between two of its commands, another call runs meanwhile, and the first goes on:
//! for every such point.

use std::{future::IntoFuture, pin::Pin};

use bucket_ops::ProblemKind as Kind;
use bucket_runtime::{
    Appended::{self, Stored},
    Outliers,
    mongodb::Database,
};

use crate::support::problems::{assert_found, expected};
use crate::{
    outlier::{
        events::{Events, counted, stops},
        support::{Book, books, dense, fresh, reads_agree, repair, survey, verify},
    },
    support::database::Live,
};

books! {
    Book2(2, 2)
}

async fn opened(db: &Database) -> (Outliers<Book2>, Outliers<Book2>, Events) {
    let plain = fresh::<Book2>(db).await;
    let (db, events) = counted(plain.collection().namespace().db.as_str()).await;
    (
        <Book2 as bucket_runtime::Outlier>::outliers(&db)
            .await
            .unwrap(),
        plain,
        events,
    )
}

type Call<'c> = Pin<Box<dyn Future<Output = ()> + 'c>>;

/// Pauses a push of 100 after this many events of its client. Returns whether it completed before.
async fn pause_push(
    books: &Outliers<Book2>,
    events: &Events,
    stop: usize,
    meanwhile: Call<'_>,
) -> (bool, bucket_runtime::Result<Appended>) {
    events.reset();
    match events
        .run_until(stop, books.push(&7, 100).into_future())
        .await
    {
        Ok(pushed) => {
            meanwhile.await;
            (true, pushed)
        }
        Err(push) => {
            meanwhile.await;
            (false, push.await)
        }
    }
}

/// How many values a parent has when the push begins, so that there is room, a full array, an open
/// page, or a full page.
const BEGINNINGS: [i64; 5] = [0, 1, 2, 3, 4];

/// One value, or several that fill a page at once, while others push. The same writer's next value must not come before
/// them.
#[bucket_testkit::test]
async fn a_push_between_whose_commands_others_push(db: Live) {
    let (books, plain, events) = opened(&db).await;
    let values = [(1, 1), (1, 2), (1, 5), (2, 1), (3, 1), (4, 1), (7, 1)];
    let cases = BEGINNINGS
        .iter()
        .flat_map(|begin| values.map(|values| (*begin, values)));
    for (begin, (many, others)) in cases {
        for stop in stops() {
            plain.delete(&7).await.unwrap();
            let book = Book2::new(7, (0..begin).collect());
            plain.insert(&book).await.unwrap();
            events.reset();
            let push: Call<'_> = match many {
                1 => Box::pin(async { assert_eq!(books.push(&7, 100).await.unwrap(), Stored) }),
                _ => Box::pin(async {
                    let pushed = books.push_many(&7, 100..100 + many).await;
                    assert_eq!(pushed.unwrap(), many as u64);
                }),
            };
            let paused = events.run_until(stop, push).await;
            for value in 50..50 + others {
                plain.push(&7, value).await.unwrap();
            }
            let to_its_end = paused.is_ok();
            if let Err(push) = paused {
                push.await;
            }
            books.push(&7, 100 + many).await.unwrap();
            let stored = dense(&plain).await.remove(&7).unwrap();
            reads_agree(&plain, 7, &stored).await;
            let mut all = stored.all();
            let case =
                format!("{many} and {others} values to {begin}, after {stop} events: {all:?}");
            let first = Vec::from_iter(0..begin);
            assert!(all.starts_with(&first), "O5: {case}");
            let own = all.iter().copied().filter(|value| *value >= 100);
            assert!(own.eq(100..=100 + many), "O5: {case}");
            all.sort_unstable();
            let expected = (0..begin).chain(50..50 + others).chain(100..=100 + many);
            assert!(all.into_iter().eq(expected), "O1: {case}");
            if to_its_end {
                break;
            }
        }
    }
}

#[bucket_testkit::test]
async fn a_push_between_whose_commands_the_parent_is_deleted_leaves_at_most_an_orphan(db: Live) {
    let (books, plain, events) = opened(&db).await;
    for begin in BEGINNINGS {
        for stop in 1.. {
            let book = Book2::new(7, (0..begin).collect());
            plain.insert(&book).await.unwrap();
            let meanwhile = async { assert!(plain.delete(&7).await.unwrap()) };
            let (to_its_end, pushed) = pause_push(&books, &events, stop, Box::pin(meanwhile)).await;
            if let Err(error) = &pushed {
                assert!(error.is_not_found(), "{error}");
            }
            let found = survey(&plain).await;
            assert!(found.parents.is_empty(), "{found:?}");
            let orphans = found.orphans.get(&7).map_or(0, Vec::len);
            assert!(orphans <= 1, "{found:?}");
            let text = "has 1 item in 1 extras document";
            let orphan = expected(Kind::NoParent, [7_i64], "7", text);
            assert_found(&verify(&plain).await.unwrap(), &vec![orphan; orphans]);
            assert_eq!(repair(&plain).await.unwrap(), []);
            assert!(survey(&plain).await.orphans.is_empty());
            if to_its_end {
                break;
            }
        }
    }
}

/// The flag was set on the deleted parent, and its replacement does not have it: `verify` reports it,
/// and after `repair` the acknowledged value is readable.
#[bucket_testkit::test]
async fn a_push_between_whose_commands_the_parent_is_deleted_and_inserted_again(db: Live) {
    let (books, plain, events) = opened(&db).await;
    for begin in BEGINNINGS {
        for stop in 1.. {
            let book = Book2::new(7, (0..begin).collect());
            plain.insert(&book).await.unwrap();
            let meanwhile = async {
                plain.delete(&7).await.unwrap();
                plain.insert(&Book2::new(7, vec![50])).await.unwrap();
            };
            let (to_its_end, _) = pause_push(&books, &events, stop, Box::pin(meanwhile)).await;
            let found = survey(&plain).await;
            let unflagged = expected(Kind::NoFlag, [7_i64], "7", "");
            let problems = vec![unflagged; found.unflagged.len()];
            assert_found(&verify(&plain).await.unwrap(), &problems);
            assert_eq!(repair(&plain).await.unwrap(), []);
            let values = crate::outlier::support::items(&plain, 7).await;
            let pushed = values.iter().filter(|value| **value == 100).count();
            assert!(values.contains(&50) && pushed <= 1, "{values:?}");
            if !found.unflagged.is_empty() {
                assert_eq!(pushed, 1, "O1 after repair: {values:?}");
            }
            plain.delete(&7).await.unwrap();
            if to_its_end {
                break;
            }
        }
    }
}

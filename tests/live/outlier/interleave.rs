//! A call is stopped between two of its commands, another call runs meanwhile, and the first goes on:
//! for every such point.

use std::future::IntoFuture;

use bucket_ops::ProblemKind as Kind;
use bucket_runtime::{Appended::Stored, Outlier, Outliers, mongodb::Database};

use crate::{
    outlier::{
        events::{Events, counted, stops},
        support::{Book, Book2x2, dense, fresh, items, reads_agree, repair, survey, verify},
    },
    support::{
        database::Live,
        problems::{assert_found, expected},
    },
};

async fn opened(db: &Database) -> (Outliers<Book2x2>, Outliers<Book2x2>, Events) {
    let plain = fresh::<Book2x2>(db).await;
    let (db, events) = counted(plain.collection().namespace().db.as_str()).await;
    (Book2x2::outliers(&db).await.unwrap(), plain, events)
}

/// Pauses a call after this many events of its client, while another one runs. Returns its outcome, and whether it
/// completed before.
async fn pause<O>(
    events: &Events,
    stop: usize,
    call: impl Future<Output = O> + Unpin,
    meanwhile: impl Future<Output = ()>,
) -> (O, bool) {
    events.reset();
    let paused = events.run_until(stop, call).await;
    meanwhile.await;
    match paused {
        Ok(outcome) => (outcome, true),
        Err(call) => (call.await, false),
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
            let book = Book2x2::new(7, (0..begin).collect());
            plain.insert(&book).await.unwrap();
            let push = Box::pin(async {
                match many {
                    1 => assert_eq!(books.push(&7, 100).await.unwrap(), Stored),
                    _ => {
                        let pushed = books.push_many(&7, 100..100 + many).await;
                        assert_eq!(pushed.unwrap(), many as u64);
                    }
                }
            });
            let meanwhile = async {
                for value in 50..50 + others {
                    plain.push(&7, value).await.unwrap();
                }
            };
            let ((), to_its_end) = pause(&events, stop, push, meanwhile).await;
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

/// At most an orphan is left. If the parent is inserted again meanwhile, the flag was set on the deleted one, and its
/// replacement does not have it: `verify` reports it, and after `repair` the acknowledged value is readable.
#[bucket_testkit::test]
async fn a_push_between_whose_commands_the_parent_is_deleted(db: Live) {
    let (books, plain, events) = opened(&db).await;
    let cases = BEGINNINGS
        .iter()
        .flat_map(|begin| [(*begin, false), (*begin, true)]);
    for (begin, inserts_again) in cases {
        for stop in 1.. {
            let book = Book2x2::new(7, (0..begin).collect());
            plain.insert(&book).await.unwrap();
            let meanwhile = async {
                assert!(plain.delete(&7).await.unwrap());
                if inserts_again {
                    plain.insert(&Book2x2::new(7, vec![50])).await.unwrap();
                }
            };
            let push = books.push(&7, 100).into_future();
            let (pushed, to_its_end) = pause(&events, stop, push, meanwhile).await;
            let found = survey(&plain).await;
            let problems = if inserts_again {
                vec![expected(Kind::NoFlag, [7_i64], "7", ""); found.unflagged.len()]
            } else {
                if let Err(error) = pushed {
                    assert!(error.is_not_found(), "{error}");
                }
                assert!(found.parents.is_empty(), "{found:?}");
                let orphans = found.orphans.get(&7).map_or(0, Vec::len);
                let text = "has 1 item in 1 extras document";
                vec![expected(Kind::NoParent, [7_i64], "7", text); orphans]
            };
            assert!(problems.len() <= 1, "{found:?}");
            assert_found(&verify(&plain).await.unwrap(), &problems);
            assert_eq!(repair(&plain).await.unwrap(), []);
            if inserts_again {
                let values = items(&plain, 7).await;
                let pushed = values.iter().filter(|value| **value == 100).count();
                assert!(values.contains(&50) && pushed <= 1, "{values:?}");
                assert!(
                    problems.is_empty() || pushed == 1,
                    "O1 after repair: {values:?}"
                );
                plain.delete(&7).await.unwrap();
            }
            assert!(survey(&plain).await.orphans.is_empty());
            if to_its_end {
                break;
            }
        }
    }
}

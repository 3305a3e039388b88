//! O5: one writer's values come back in the order in which it pushed them, also across the threshold
//! and after removals.

use bucket_runtime::{Outliers, mongodb::Database};
use proptest::prelude::*;

use crate::{
    outlier::support::{
        Book, Stored, books, dense, fresh, reads_agree, remove, repaired, stored, verify,
    },
    support::{
        database::{Live, number},
        random::for_any,
        scale::scaled,
    },
};

books! {
    Book1x1(1, 1)
    Book3x2(3, 2)
    Book4x5(4, 5)
    Book50x1000(50, 1000)
}

async fn one<T: Book>(books: &Outliers<T>) -> Stored {
    stored(books).await.remove(&7).unwrap()
}

#[bucket_testkit::test]
async fn single_pushes_come_back_in_their_order(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    books.insert(&Book3x2::new(7, vec![])).await.unwrap();
    for value in 0..30 {
        books.push(&7, value).await.unwrap();
        let stored = dense(&books).await.remove(&7).unwrap();
        assert_eq!(stored.all(), (0..=value).collect::<Vec<_>>());
        reads_agree(&books, 7, &stored).await;
    }
}

/// Pushes every number of values onto every filling of the parent and the open page, and then the same
/// number again.
async fn all_sizes<T: Book>(db: &Database, most: i64) {
    let books = fresh::<T>(db).await;
    for begin in 0..most {
        for more in 0..most {
            books
                .insert(&T::new(7, (0..begin).collect()))
                .await
                .unwrap();
            books.push_many(&7, begin..begin + more).await.unwrap();
            let after = begin + more;
            books.push_many(&7, after..after + more).await.unwrap();
            books.push(&7, after + more).await.unwrap();
            let stored = dense(&books).await.remove(&7).unwrap();
            assert_eq!(stored.all(), (0..=after + more).collect::<Vec<_>>());
            reads_agree(&books, 7, &stored).await;
            books.delete(&7).await.unwrap();
        }
    }
}

#[bucket_testkit::test]
async fn push_many_of_all_sizes_comes_back_in_order(db: Live) {
    all_sizes::<Book1x1>(&db, 4).await;
    all_sizes::<Book3x2>(&db, 10).await;
    all_sizes::<Book4x5>(&db, 11).await;
}

#[bucket_testkit::test]
async fn push_many_of_several_capacities_comes_back_in_order(db: Live) {
    let books = fresh::<Book50x1000>(&db).await;
    books.insert(&Book50x1000::new(7, vec![])).await.unwrap();
    let mut pushed = 0;
    for more in [20, 5000, 1, 49, 2000, 999, 3] {
        books.push_many(&7, pushed..pushed + more).await.unwrap();
        pushed += more;
        let stored = dense(&books).await.remove(&7).unwrap();
        assert_eq!(stored.all(), (0..pushed).collect::<Vec<_>>());
    }
}

/// A full page is sealed when a value is removed from it: later values must not come before others.
#[bucket_testkit::test]
async fn what_is_removed_leaves_room_that_nobody_fills(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    books
        .insert(&Book3x2::new(7, (0..9).collect()))
        .await
        .unwrap();
    assert!(remove(&books, &7, 1).await.unwrap(), "from the parent");
    assert!(remove(&books, &7, 3).await.unwrap(), "from the first page");
    assert!(
        remove(&books, &7, 8).await.unwrap(),
        "from the last page, which is full"
    );
    let sealed = |stored: &Stored| -> Vec<_> {
        let sealed = stored.pages.iter().map(|page| {
            assert!(
                page.get("sealed")
                    .is_none_or(|sealed| Some(sealed) == page.get("_id"))
            );
            (number(page.get("count")), page.contains_key("sealed"))
        });
        sealed.collect()
    };
    let before = one(&books).await;
    assert_eq!(before.all(), [0, 2, 4, 5, 6, 7]);
    assert!(before.flagged);
    assert_eq!(sealed(&before), [(1, true), (2, false), (1, true)]);
    books.push(&7, 20).await.unwrap();
    books.push_many(&7, [21, 22]).await.unwrap();
    let after = one(&books).await;
    assert_eq!(after.parent, [0, 2]);
    assert_eq!(after.all(), [0, 2, 4, 5, 6, 7, 20, 21, 22]);
    assert_eq!(
        sealed(&after),
        [(1, true), (2, false), (1, true), (2, false), (1, false)]
    );
    reads_agree(&books, 7, &after).await;
    // An open page that is emptied is gone. A sealed page stays, so that its number is never used again.
    assert!(remove(&books, &7, 22).await.unwrap());
    assert!(remove(&books, &7, 4).await.unwrap());
    assert_eq!(
        sealed(&one(&books).await),
        [(0, true), (2, false), (1, true), (2, false)]
    );
    books.push(&7, 23).await.unwrap();
    let end = one(&books).await;
    assert_eq!(end.all(), [0, 2, 5, 6, 7, 20, 21, 23]);
    assert_eq!(
        sealed(&end),
        [(0, true), (2, false), (1, true), (2, false), (1, false)]
    );
    for value in end.all() {
        assert!(remove(&books, &7, value).await.unwrap());
    }
    assert!(one(&books).await.all().is_empty());
    books.push_many(&7, 30..40).await.unwrap();
    let again = one(&books).await;
    assert_eq!(again.all(), (30..40).collect::<Vec<_>>());
    assert!(
        again.parent.is_empty(),
        "new values went into a flagged parent"
    );
    assert_eq!(verify(&books).await.unwrap(), []);
}

#[bucket_testkit::test]
async fn a_full_parent_without_extras_takes_values_again_after_a_removal(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    books.insert(&Book3x2::new(7, vec![0, 1, 2])).await.unwrap();
    remove(&books, &7, 1).await.unwrap();
    books.push_many(&7, [3, 4]).await.unwrap();
    let stored = one(&books).await;
    assert_eq!(
        (stored.parent.as_slice(), stored.extras.as_slice()),
        (&[0, 2, 3][..], &[4][..])
    );
}

#[derive(Debug, Clone)]
enum Step {
    Push(i64),
    PushMany(Vec<i64>),
    Remove(i64),
    Repair,
    Reopen,
}

/// Few values, so that there are many equal ones.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let value = 0..9_i64;
    let step = prop_oneof![
        4 => value.clone().prop_map(Step::Push),
        4 => proptest::collection::vec(value.clone(), 0..14).prop_map(Step::PushMany),
        3 => value.prop_map(Step::Remove),
        1 => Just(Step::Repair),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..20)
}

async fn as_a_vec<T: Book>(mut books: Outliers<T>, begin: Vec<i64>, steps: &[Step]) {
    books.delete(&7).await.unwrap();
    books.insert(&T::new(7, begin.clone())).await.unwrap();
    let mut model = begin;
    for step in steps {
        match step {
            Step::Push(value) => {
                books.push(&7, *value).await.unwrap();
                model.push(*value);
            }
            Step::PushMany(values) => {
                books.push_many(&7, values.clone()).await.unwrap();
                model.extend(values);
            }
            Step::Remove(value) => {
                let removed = remove(&books, &7, *value).await.unwrap();
                assert_eq!(removed, model.contains(value), "{step:?}");
                model.retain(|other| other != value);
            }
            Step::Repair => assert_eq!(repaired(&books).await.unwrap().repaired, [].into()),
            // Another process, which knows nothing of the parent yet.
            Step::Reopen => {
                let db = books
                    .collection()
                    .client()
                    .database(&books.collection().namespace().db);
                books = T::outliers(&db).await.unwrap();
            }
        }
        let stored = one(&books).await;
        assert_eq!(stored.all(), model, "after {step:?}");
        reads_agree(&books, 7, &stored).await;
    }
    assert_eq!(verify(&books).await.unwrap(), []);
}

async fn any_steps<T: Book>(db: &Database) {
    let books = fresh::<T>(db).await;
    let begin = proptest::collection::vec(0..9_i64, 0..9);
    for_any(scaled(12), (begin, steps()), async |(begin, steps)| {
        as_a_vec(books.clone(), begin, &steps).await;
    });
}

#[bucket_testkit::test(multi_thread)]
async fn any_steps_do_what_they_do_to_a_vec(db: Live) {
    any_steps::<Book1x1>(&db).await;
    any_steps::<Book3x2>(&db).await;
    any_steps::<Book4x5>(&db).await;
}

//! Combining: each caller learns what happened to its own item. Refused items take no others in the
//! same command with them.

use bucket_runtime::{
    Bucket, Error,
    mongodb::{Database, bson::Document},
};

use crate::{
    append::combine::support::{
        Mark, Numbered1, Numbered10, Seconds1, Seconds10, assert_stored, refuse_bad_texts,
        together, with_taken,
    },
    error::items::{Value, Valued},
    support::{
        assert_refused,
        database::{Live, documents, is_cluster},
    },
};

/// Which items are bad: every ninth, so that some are alone in a statement and some are not.
fn is_bad(n: i64) -> bool {
    n % 9 == 4
}

/// Appends all items at once, and checks that exactly the bad ones are refused, with the right error, and that the others
/// are stored beside those that are there.
async fn only_the_bad_are_refused<T: Mark>(
    db: &Database,
    there: Vec<(i64, i64)>,
    items: Vec<T>,
    is_bad: impl Fn(&T) -> bool,
    is_right: impl Fn(&Error) -> bool,
) {
    let marks = T::buckets(db).await.unwrap();
    let results = together(&marks, items.iter().cloned()).await;
    for (item, result) in items.iter().zip(results) {
        match (result, is_bad(item)) {
            (Ok(_), false) => {}
            (Err(error), true) => {
                assert!(is_right(&error), "{}: {error}", item.n());
                assert!(!error.is_maybe_stored(), "{error}");
                assert_eq!(error.key(), Some(&*format!("\"{}\"", item.k())));
            }
            (result, _) => panic!("item {} of key {}: {result:?}", item.n(), item.k()),
        }
    }
    let good = items.iter().filter(|item| !is_bad(item));
    let good = good.map(|item| (item.k(), item.n()));
    assert_stored(&marks, good.chain(there)).await;
}

/// Items of one key, items of a key each, and a mix.
fn of_keys<T: Mark>(items: i64) -> [Vec<T>; 3] {
    let mixed = |n| if n % 3 == 0 { n } else { 1 };
    [
        (0..items).map(|n| T::new(1, n)).collect(),
        (0..items).map(|n| T::new(n, n)).collect(),
        (0..items).map(|n| T::new(mixed(n), n)).collect(),
    ]
}

/// A unique index over array elements compares whole documents: another key already has those values.
async fn unique<T: Mark>(db: &Database) {
    for mut items in of_keys::<T>(120) {
        let (_, taken) = with_taken::<T>(db, (0..120).filter(|n| is_bad(*n))).await;
        items.retain(|item| item.n() > 0);
        let is_taken = |item: &T| is_bad(item.n());
        only_the_bad_are_refused(db, taken, items, is_taken, Error::is_duplicate).await;
    }
}

#[bucket_testkit::test]
async fn a_unique_index_refuses_single_items_of_a_command(db: Live) {
    if is_cluster().await {
        // No such unique index fits the shard key.
        return;
    }
    unique::<Seconds1>(&db).await;
    unique::<Seconds10>(&db).await;
    unique::<Numbered1>(&db).await;
    unique::<Numbered10>(&db).await;
}

async fn validator<T: Mark>(db: &Database) {
    for items in of_keys::<T>(120) {
        refuse_bad_texts(db).await;
        let items = items.into_iter().map(|item| match is_bad(item.n()) {
            true => item.text("bad"),
            false => item,
        });
        let refused = |error: &Error| {
            error.to_string().contains("Document failed validation") && !error.is_duplicate()
        };
        let is_refused = |item: &T| is_bad(item.n());
        only_the_bad_are_refused(db, vec![], items.collect(), is_refused, refused).await;
    }
}

#[bucket_testkit::test]
async fn a_validator_refuses_single_items_of_a_command(db: Live) {
    validator::<Seconds1>(&db).await;
    validator::<Seconds10>(&db).await;
    validator::<Numbered1>(&db).await;
    validator::<Numbered10>(&db).await;
}

/// A bad item is refused before it waits for anything.
#[bucket_testkit::test]
async fn items_that_are_no_bson_or_have_no_id_keep_no_other_back(db: Live) {
    let values = Valued::buckets(&db).await.unwrap();
    let value = |n| match n % 4 {
        0 => Value::Fails,
        1 => Value::Named("a\0b".into()),
        _ => Value::Fine,
    };
    let items = Valued::all(value);
    let appends = items.iter().map(|item| values.append(item).into_future());
    let results = futures_util::future::join_all(appends).await;
    for (n, result) in (0..).zip(results) {
        match (result, n % 4 < 2) {
            (Ok(_), false) => {}
            (Err(error), true) => assert!(error.is_serialize() && !error.is_maybe_stored()),
            (result, _) => panic!("{n}: {result:?}"),
        }
    }
    assert_eq!(values.count_all().await.unwrap(), 50);

    // In the year 5000, seconds have eleven digits.
    let at = |n| if n % 5 == 0 { 95_617_584_000_000 } else { 0 };
    let items: Vec<_> = (0..50).map(|n| Seconds10::new(1, n).at(at(n))).collect();
    let late = |item: &Seconds10| item.n() % 5 == 0;
    only_the_bad_are_refused(&db, vec![], items, late, Error::is_out_of_range).await;
}

/// An error that concerns all appends is reported to all of them, and nothing is stored.
async fn no_index<T: Mark>(db: &Database, name: &str) {
    let [.., mixed] = of_keys::<T>(60);
    let marks = (T::buckets_in(db.collection::<Document>(name)).await).unwrap();
    marks.collection().drop_index("bucket_open").await.unwrap();
    for result in together(&marks, mixed).await {
        assert_refused(&result.unwrap_err(), Error::is_index_missing);
    }
    assert_eq!(documents(marks.collection()).await, Vec::<Document>::new());
}

#[bucket_testkit::test]
async fn without_the_open_index_every_append_says_so(db: Live) {
    // All of them wait for the index for a while, at the same time.
    tokio::join!(
        no_index::<Seconds10>(&db, "seconds_10"),
        no_index::<Numbered10>(&db, "numbered_10"),
    );
}

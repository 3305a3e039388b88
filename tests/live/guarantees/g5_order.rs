//! G5: the order of a key's bucket ids is the order of the first items' times, and with `{#}` the
//! order of creation. Numbers and suffixes count up without a gap until they run out.

use bucket_runtime::{
    Bucket, Buckets, Error,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::future::join_all;

use crate::support::{
    database::{Live, dense_buckets, documents, fresh, ids, items, number},
    tasks::JoinSet,
    zoo::ticks::{Millis1, Millis3, Numbered3, Seconds1, Seconds2, Seconds3, Tick},
};

/// Appends to one key, so that ids differ only in their ordinals.
async fn append<T: Tick>(ticks: &Buckets<T>, millis: i64, n: i64) {
    ticks.append(&T::new(5, n).at(millis)).await.unwrap();
}

async fn read<T: Tick>(ticks: &Buckets<T>) -> Vec<i64> {
    items(ticks, &5).await.iter().map(Tick::n).collect()
}

fn assert_refused(error: &Error) {
    let is_refused = error.is_out_of_range() && !error.is_maybe_stored();
    assert!(is_refused, "{error}");
}

/// Milliseconds on both sides of everything that could break the order of texts: the epoch, the number
/// of digits, the limits of the width.
fn moments() -> Vec<i64> {
    let mut moments = vec![
        -1_000_000,
        -999_999,
        -62_135_596_800_000 / 10,
        253_402_300_799_999 / 100,
    ];
    let around = [
        -9_999_999_998_000,
        -1_000_000_000_000,
        -999_999_999_000,
        -10_000,
        0,
        1_000_000,
        9_999_999_000,
        10_000_000_000,
        999_999_999_000,
        1_000_000_000_000,
        1_698_335_223_434,
        9_999_999_998_000,
    ];
    let nearby = [-1001, -1000, -1, 0, 1, 999, 1000];
    moments.extend(around.iter().flat_map(|at| nearby.map(|by| at + by)));
    moments.extend([-10_000_000_000_000, 9_999_999_999_999]);
    moments.sort_unstable();
    moments.dedup();
    moments
}

/// With capacity 1 each item opens its own bucket. The items are appended in a scrambled order, so that
/// the order of ids is not the order of insertion.
async fn ids_sort_as_times<T: Tick>(db: &Database, unit: i64) {
    let ticks = fresh::<T>(db).await;
    let moments = moments();
    let mut expected = Vec::new();
    for nth in 0..moments.len() {
        let at = moments[nth * 53 % moments.len()];
        append(&ticks, at, at).await;
        // Within one unit of time the earlier append comes first.
        expected.push((at.div_euclid(unit), nth, at));
    }
    expected.sort_unstable();
    let expected = Vec::from_iter(expected.into_iter().map(|(_, _, at)| at));
    let stored = documents(ticks.collection()).await;
    let first = |bucket: &Document| {
        let items = bucket.get_array("items").unwrap();
        number(items[0].as_document().unwrap().get("n"))
    };
    assert_eq!(Vec::from_iter(stored.iter().map(first)), expected);
    assert_eq!(read(&ticks).await, expected);
}

#[bucket_testkit::test]
async fn ids_sort_as_times_do_from_before_1970_to_the_limit(db: Live) {
    let left = moments().len() % 53;
    assert_ne!(left, 0, "the scrambling must reach every moment");
    ids_sort_as_times::<Seconds1>(&db, 1000).await;
    ids_sort_as_times::<Millis1>(&db, 1).await;
}

#[bucket_testkit::test]
async fn times_are_written_as_the_table_says(db: Live) {
    let seconds = fresh::<Seconds1>(&db).await;
    let written = [
        (-10_000_000_000_000, "5_-0000000000"),
        (-1000, "5_-9999999999"),
        (-1, "5_-9999999999_000001"),
        (0, "5_0000000000"),
        (1, "5_0000000000_000001"),
        (999_999_999_999, "5_0999999999"),
        (1_000_000_000_000, "5_1000000000"),
        (1_698_335_223_434, "5_1698335223"),
        (9_999_999_999_999, "5_9999999999"),
    ];
    for (millis, _) in written {
        append(&seconds, millis, 0).await;
    }
    assert_eq!(ids(&seconds).await, written.map(|(_, id)| id));

    let millis = fresh::<Millis1>(&db).await;
    let written = [
        (-10_000_000_000_000, "5_-0000000000000"),
        (-1, "5_-9999999999999"),
        (0, "5_0000000000000"),
        (1, "5_0000000000001"),
        (1_698_335_223_434, "5_1698335223434"),
        (9_999_999_999_999, "5_9999999999999"),
    ];
    for (at, _) in written {
        append(&millis, at, 0).await;
    }
    assert_eq!(ids(&millis).await, written.map(|(_, id)| id));
}

async fn refuses_past_the_width<T: Tick>(db: &Database) {
    let ticks = fresh::<T>(db).await;
    for millis in [-10_000_000_000_001, 10_000_000_000_000, i64::MIN, i64::MAX] {
        let item = T::new(5, 0).at(millis);
        let error = ticks.append(&item).await.unwrap_err();
        assert_refused(&error);
        assert!(error.collection().ends_with(".ticks"), "{error}");
        assert_eq!(error.key(), Some("\"5\""));
    }
    assert_eq!(documents(ticks.collection()).await, []);
}

#[bucket_testkit::test]
async fn a_time_past_the_width_is_refused(db: Live) {
    refuses_past_the_width::<Seconds1>(&db).await;
    refuses_past_the_width::<Millis1>(&db).await;
}

/// A handle knows how much room the open bucket has left, and another one makes more. Appends that travel together
/// then do not open full buckets behind one that takes the next item.
#[bucket_testkit::test]
async fn what_a_handle_knows_from_before_a_removal_keeps_the_order(db: Live) {
    let ticks = fresh::<Numbered3>(&db).await;
    let other = Numbered3::buckets(&db).await.unwrap();
    for n in [0, 1] {
        append(&ticks, 0, n).await;
    }
    for n in [0, 1] {
        other.remove_item(&5, Numbered3::n_is(n)).await.unwrap();
    }
    join_all((2..7).map(|n| append(&ticks, 0, n))).await;
    append(&ticks, 0, 7).await;
    assert_eq!(read(&ticks).await, Vec::from_iter(2..8));
}

#[bucket_testkit::test]
async fn a_late_item_goes_into_the_open_bucket(db: Live) {
    let ticks = fresh::<Seconds2>(&db).await;
    for (n, seconds) in (0..).zip([100, 50, 70, 90, 10]) {
        append(&ticks, seconds * 1000, n).await;
    }
    // 50 joined the bucket of 100, and 90 that of 70; 10 opened its own.
    let stored = ids(&ticks).await;
    assert_eq!(stored, ["5_0000000010", "5_0000000070", "5_0000000100"]);
    assert_eq!(read(&ticks).await, [4, 2, 3, 0, 1]);
    assert_eq!(ticks.latest(&5).await.unwrap().unwrap().id(), stored[2]);
}

/// 32 tasks append 20 items each to one key. Every writer's own items come back in its order.
async fn race<T: Tick>(db: &Database) -> Vec<Document> {
    const ITEMS: i64 = 20;
    let ticks = fresh::<T>(db).await;
    let mut writers = JoinSet::new();
    for writer in 0..32 {
        let ticks = ticks.clone();
        writers.spawn(async move {
            for n in writer * ITEMS..(writer + 1) * ITEMS {
                append(&ticks, 1_698_335_223_434, n).await;
            }
        });
    }
    writers.join_all().await;
    let read = read(&ticks).await;
    for writer in 0..32 {
        let own = read.iter().copied().filter(|n| n / ITEMS == writer);
        let sent = writer * ITEMS..(writer + 1) * ITEMS;
        assert_eq!(Vec::from_iter(own), Vec::from_iter(sent));
    }
    dense_buckets(&ticks).await.remove("5").unwrap()
}

/// All buckets but the last are full. So each was opened when the one before it was full, since no
/// bucket ever loses an item here.
fn assert_created_one_after_the_other(buckets: &[Document], id: impl Fn(usize) -> String) {
    assert_eq!(buckets.len(), 640_usize.div_ceil(3));
    for (n, bucket) in buckets.iter().enumerate() {
        assert_eq!(bucket.get_str("_id").unwrap(), id(n));
        let count = if n + 1 < buckets.len() { 3 } else { 1 };
        assert_eq!(number(bucket.get("count")), count, "{bucket}");
    }
}

#[bucket_testkit::test(multi_thread)]
async fn numbers_count_from_zero_without_a_gap_whatever_the_contention(db: Live) {
    let buckets = race::<Numbered3>(&db).await;
    assert_created_one_after_the_other(&buckets, |n| format!("5_{n:010}"));
}

#[bucket_testkit::test(multi_thread)]
async fn suffixes_count_without_a_gap_whatever_the_contention(db: Live) {
    let suffix = |n: usize| match n {
        0 => String::new(),
        _ => format!("_{n:06}"),
    };
    let buckets = race::<Seconds3>(&db).await;
    assert_created_one_after_the_other(&buckets, |n| format!("5_1698335223{}", suffix(n)));
    let buckets = race::<Millis3>(&db).await;
    assert_created_one_after_the_other(&buckets, |n| format!("5_1698335223434{}", suffix(n)));
}

/// When the numbers of a moment, or of a key, run out, an item is refused rather than stored where it
/// would break the order.
#[bucket_testkit::test]
async fn ids_that_are_used_up_are_an_error(db: Live) {
    let full = |id: &str, count: i32| {
        let items = vec![doc! { "at": DateTime::from_millis(0), "n": 1_i64 }; count as usize];
        doc! { "_id": id, "k": 5_i64, "count": count, "items": items }
    };
    let ticks = fresh::<Seconds1>(&db).await;
    let taken = [full("5_0000000000", 1), full("5_0000000000_999999", 1)];
    ticks.collection().insert_many(taken).await.unwrap();
    let error = ticks.append(&Seconds1::new(5, 0).at(0)).await.unwrap_err();
    assert_refused(&error);
    assert!(error.to_string().contains("5_0000000000_999999"), "{error}");
    // Another second is free.
    append(&ticks, 1000, 7).await;
    assert_eq!(read(&ticks).await, [1, 1, 7]);

    let ticks = fresh::<Numbered3>(&db).await;
    let taken = full("5_9999999999", 3);
    ticks.collection().insert_one(taken).await.unwrap();
    assert_refused(&ticks.append(&Numbered3::new(5, 0).at(0)).await.unwrap_err());
    assert_eq!(read(&ticks).await, [1, 1, 1]);
}

//! G5: the order of a key's bucket ids is the order of the first items' times, and with `{#}` the
//! order of creation.

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{Database, bson::Document},
};
use futures_util::future::join_all;

use crate::support::{
    database::{Live, documents, fresh, ids, items, number},
    zoo::ticks::{Millis1, Numbered3, Seconds1, Seconds2, Tick},
};

/// Appends to one key, so that ids differ only in their ordinals.
pub(crate) async fn append<T: Tick>(ticks: &Buckets<T>, millis: i64, n: i64) {
    ticks.append(&T::new(5, n).at(millis)).await.unwrap();
}

pub(crate) async fn read<T: Tick>(ticks: &Buckets<T>) -> Vec<i64> {
    items(ticks, &5).await.iter().map(Tick::n).collect()
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
    moments.extend(
        around
            .iter()
            .flat_map(|at| [-1001, -1000, -1, 0, 1, 999, 1000].map(|d| at + d)),
    );
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
    let expected: Vec<_> = expected.into_iter().map(|(_, _, at)| at).collect();
    assert_eq!(expected.len(), moments.len());
    let stored = documents(ticks.collection()).await;
    let first = |b: &Document| {
        number(
            b.get_array("items").unwrap()[0]
                .as_document()
                .unwrap()
                .get("n"),
        )
    };
    assert_eq!(stored.iter().map(first).collect::<Vec<_>>(), expected);
    assert_eq!(read(&ticks).await, expected);
}

#[bucket_testkit::test]
async fn ids_sort_as_times_do_from_before_1970_to_the_limit(db: Live) {
    assert_ne!(
        moments().len() % 53,
        0,
        "the scrambling must reach every moment"
    );
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
        assert!(
            error.is_out_of_range() && !error.is_maybe_stored(),
            "{error}"
        );
        assert!(
            error.collection().ends_with(".ticks") && error.key() == Some("\"5\""),
            "{error}"
        );
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

#[bucket_testkit::test]
async fn the_buckets_of_one_second_sort_between_their_neighbours(db: Live) {
    let ticks = fresh::<Seconds2>(&db).await;
    for n in 0..8 {
        append(&ticks, 1_698_335_223_434 + n, n).await;
    }
    for n in [8, 9] {
        append(&ticks, 1_698_335_224_000, n).await;
    }
    for n in [10, 11] {
        append(&ticks, 1_698_335_222_999, n).await;
    }
    let expected = [
        "5_1698335222",
        "5_1698335223",
        "5_1698335223_000001",
        "5_1698335223_000002",
        "5_1698335223_000003",
        "5_1698335224",
    ];
    assert_eq!(ids(&ticks).await, expected);
    assert_eq!(read(&ticks).await, [10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

//! Rollups at the limits of numbers, and in buckets that do not keep them.

use bucket_ops::ProblemKind;
use bucket_runtime::{
    Bucket, Error,
    mongodb::bson::{DateTime, Decimal128, Document, doc},
};

use crate::support::{
    database::{Live, Recorded, documents, items},
    ops,
    plans::examined,
    problems::kinds,
};

macro_rules! sums {
    ($($name:ident($collection:literal, $value:ty))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = $collection, id = "{key}_{#}", capacity = 10)]
        struct $name {
            key: i64,
            #[bucket(sum, min, max)]
            value: $value,
        }
    )+};
}

sums! {
    Whole("sums", i64)
    Float("floats", f64)
    Decimal("decimals", Decimal128)
}

fn whole(value: i64) -> Whole {
    Whole { key: 1, value }
}

/// A sum that a bucket cannot hold is refused, and takes no other item with it.
#[bucket_testkit::test]
async fn a_sum_beyond_64_bits_is_an_error(db: Live) {
    let sums = Whole::buckets(&db).await.unwrap();
    sums.append(&whole(i64::MAX)).await.unwrap();
    let error = sums.append(&whole(1)).await.unwrap_err();
    let is_refused = error.is_sum_overflow() && !error.is_maybe_stored();
    assert!(is_refused, "{error}");
    sums.append(&whole(-1)).await.unwrap();
    sums.append(&whole(1)).await.unwrap();
    let rollup = sums.rollup(&1).await.unwrap();
    assert_eq!((rollup.count(), rollup.value.sum()), (3, i64::MAX.into()));

    // Combined with others, and in a load.
    let appends = [1, -5, 2, 3].map(|value| {
        let sums = sums.clone();
        async move { sums.append(&whole(value)).await }
    });
    let refused = futures_util::future::join_all(appends).await;
    let refused = Vec::from_iter(refused.into_iter().filter_map(Result::err));
    assert!(refused.len() <= 1 && refused.iter().all(Error::is_sum_overflow));
    let load = [whole(-10), whole(i64::MAX), whole(7)];
    let error = sums.append_many(load).await.unwrap_err();
    assert_eq!(error.failed().len(), 1, "{error}");
    assert!(error.failed()[0].error.is_sum_overflow(), "{error}");
    let rollup = sums.rollup(&1).await.unwrap();
    let stored = items(&sums, &1).await;
    let values = stored.iter().map(|item| i128::from(item.value));
    assert_eq!(rollup.value.sum(), values.sum::<i128>());
    assert_eq!(rollup.count(), stored.len() as u64);
}

/// What is left may have no sum of 64 bits, and its rollup covers no item until it has one.
#[bucket_testkit::test]
async fn a_removal_is_never_refused_for_a_sum(db: Live) {
    let sums = Whole::buckets(&db).await.unwrap();
    for value in [i64::MAX, -1, 1] {
        sums.append(&whole(value)).await.unwrap();
    }
    let is = |value| Whole::FIELDS.value.eq(value);
    let removed = sums.remove_item(&1, is(-1)).await.unwrap();
    assert_eq!(removed, Some(whole(-1)));
    let left = [whole(i64::MAX), whole(1)];
    assert_eq!(items(&sums, &1).await, left);
    let error = sums.rollup(&1).await.unwrap_err();
    assert!(error.is_incomplete_rollup(), "{error}");
    let problems = ops(&sums).verify().await.unwrap().problems;
    let rebuilt = ops(&sums).rebuild_rollups().await.unwrap();
    assert_eq!(rebuilt.left, problems);
    assert_eq!(kinds(&problems), [ProblemKind::NoRollup]);

    sums.append(&whole(2)).await.unwrap();
    assert_eq!(sums.remove_items(&1, is(i64::MAX)).await.unwrap(), 1);
    let rollup = sums.rollup(&1).await.unwrap();
    assert_eq!((rollup.count(), rollup.value.sum()), (2, 3));
    assert_eq!(ops(&sums).verify().await.unwrap().problems, []);
}

/// In whole buckets, too, and in an import.
#[bucket_testkit::test]
async fn whole_buckets_whose_sum_does_not_fit_are_written_item_by_item(db: Live) {
    let sums = Whole::buckets(&db).await.unwrap();
    // All of them fit if they are added one after the other.
    let load = [i64::MAX, 1, -1, 1, i64::MIN, 5].map(whole);
    assert_eq!(sums.append_many(load).await.unwrap(), 6);
    let rollup = sums.rollup(&1).await.unwrap();
    let ends = (Some(i64::MIN), Some(i64::MAX));
    assert_eq!((rollup.count(), rollup.value.sum()), (6, 5));
    assert_eq!((rollup.value.min(), rollup.value.max()), ends);

    let load = [i64::MAX, 1, 2].map(|value| Whole { key: 3, value });
    let error = sums.append_many(load).await.unwrap_err();
    let failed = error.failed().iter();
    let failed = failed.map(|failed| (failed.index, failed.error.is_sum_overflow()));
    assert_eq!(Vec::from_iter(failed), [(1, true), (2, true)], "{error}");
    assert_eq!(error.stored(), 1, "{error}");

    let flat = db.collection::<Document>("flat");
    let rows = [i64::MAX, -5, 3].map(|value| doc! { "key": 2_i64, "value": value });
    flat.insert_many(rows).await.unwrap();
    ops(&sums).import_flat(&flat).await.unwrap();
    let imported = sums.rollup(&2).await.unwrap();
    assert_eq!(imported.value.sum(), i128::from(i64::MAX) - 2);
}

/// The server itself would switch to floats.
#[bucket_testkit::test]
async fn the_sum_of_many_buckets_is_exact_beyond_64_bits(db: Live) {
    let sums = Whole::buckets(&db).await.unwrap();
    let values = [i64::MAX - 1, 1, i64::MAX - 2, 1, i64::MAX - 3, 1, i64::MIN];
    for (key, value) in [1, 1, 2, 2, 3, 3, 4].into_iter().zip(values) {
        sums.append(&Whole { key, value }).await.unwrap();
    }
    let rollup = sums.rollup_all().await.unwrap();
    let expected: i128 = values.map(i128::from).iter().sum();
    assert_eq!((rollup.count(), rollup.value.sum()), (7, expected));
    assert_eq!(rollup.value.mean(), Some(expected as f64 / 7.0));
    let ends = (Some(i64::MIN), Some(i64::MAX - 1));
    assert_eq!((rollup.value.min(), rollup.value.max()), ends);
}

/// Whether the client or the server compares NaN, it is the least number, and the sum is NaN.
#[bucket_testkit::test]
async fn nan_is_the_least_number(db: Live) {
    let floats = Float::buckets(&db).await.unwrap();
    for (key, values) in (0..).zip([
        [f64::NAN, 1.0, 2.0],
        [1.0, f64::NAN, 2.0],
        [1.0, 2.0, f64::NAN],
    ]) {
        for value in values {
            floats.append(&Float { key, value }).await.unwrap();
        }
        let loaded = key + 10;
        let load = values.map(|value| Float { key: loaded, value });
        floats.append_many(load).await.unwrap();
        for key in [key, loaded] {
            let rollup = floats.rollup(&key).await.unwrap();
            let value = &rollup.value;
            assert!(value.sum().is_nan() && value.min().unwrap().is_nan());
            assert_eq!((value.max(), value.count()), (Some(2.0), 3), "{key}");
        }
    }
    let values = [f64::INFINITY, f64::MAX, f64::NEG_INFINITY];
    let load = values.map(|value| Float { key: 7, value });
    floats.append_many(load).await.unwrap();
    let rollup = floats.rollup(&7).await.unwrap();
    assert!(rollup.value.sum().is_nan());
    assert_eq!(rollup.value.min(), Some(f64::NEG_INFINITY));
}

/// The library leaves decimals that it cannot add exactly to the server, whatever their notation.
#[bucket_testkit::test]
async fn decimals_of_all_kinds_are_added_up(db: Live) {
    const MOST: &str = "9999999999999999999999999999999999";
    const ABOVE: &str = "1.000000000000000000000000000000000E+34";
    let decimals = Decimal::buckets(&db).await.unwrap();
    for (key, values, sum, min, max) in [
        (1, vec!["0.1", "0.2", "-0.30"], "0.00", "-0.30", "0.2"),
        (2, vec!["1E+40", "1", "-1E+40"], "0", "-1E+40", "1E+40"),
        (3, vec!["1", "NaN", "2"], "NaN", "NaN", "2"),
        (4, vec!["Infinity", "1", "-5"], "Infinity", "-5", "Infinity"),
        (5, vec![MOST, "1", "1"], ABOVE, "1", MOST),
    ] {
        let loaded = key + 10;
        let values: Vec<_> = values.iter().map(|value| value.parse().unwrap()).collect();
        for value in values.clone() {
            decimals.append(&Decimal { key, value }).await.unwrap();
        }
        let load = values.into_iter();
        let load = load.map(|value| Decimal { key: loaded, value });
        decimals.append_many(load).await.unwrap();
        for key in [key, loaded] {
            let rollup = decimals.rollup(&key).await.unwrap();
            assert_eq!(rollup.value.sum().0.to_string(), sum, "{key}");
            assert_eq!(rollup.value.min().unwrap().to_string(), min, "{key}");
            assert_eq!(rollup.value.max().unwrap().to_string(), max, "{key}");
        }
    }
}

/// A bucket without the requested rollup leads to an error, never to a wrong number.
#[bucket_testkit::test]
async fn buckets_that_keep_too_little_are_noticed(db: Live) {
    let sums = Whole::buckets(&db).await.unwrap();
    sums.append_many((0..12).map(whole)).await.unwrap();
    assert_eq!(sums.rollup(&1).await.unwrap().value.sum(), 66);
    let raw = sums.collection();
    let complete = documents(raw).await;
    for change in [
        doc! { "$unset": { "rollup": "" } },
        doc! { "$set": { "rollup": 1 } },
        doc! { "$unset": { "rollup.value": "" } },
        doc! { "$unset": { "rollup.value.max": "" } },
        doc! { "$set": { "rollup.value.min": "one" } },
        doc! { "$push": { "items": { "value": 7 } }, "$inc": { "count": 1 } },
    ] {
        for (at, bucket) in complete.iter().enumerate() {
            let id = doc! { "_id": bucket.get("_id") };
            let damage = raw.update_one(id.clone(), change.clone());
            damage.await.unwrap();
            let page = sums.page(&1, at as u64 + 1).await.unwrap().unwrap();
            assert!(page.rollup().is_none(), "{change}");
            // A missing `min` or `max` shows only if no other bucket has one.
            let added_up = sums.rollup(&1).await;
            let text = change.to_string();
            if !text.contains("max") && !text.contains("min") {
                let error = added_up.unwrap_err();
                assert!(error.is_incomplete_rollup(), "{change}: {error}");
            }
            raw.replace_one(id, bucket.clone()).await.unwrap();
        }
    }
    assert_eq!(sums.rollup(&1).await.unwrap().value.sum(), 66);
}

#[derive(Debug, Bucket)]
#[bucket(collection = "readings", id = "{sensor}_{at/1h}", capacity = 4)]
struct Reading {
    sensor: i64,
    at: DateTime,
    #[bucket(sum)]
    value: i64,
}

/// A range of a key's windows visits only these windows.
#[bucket_testkit::test]
async fn a_range_of_windows_visits_their_buckets(Recorded(db, record): Recorded) {
    let readings = Reading::buckets(&db).await.unwrap();
    let hour = |n: i64| DateTime::from_millis(n * 3_600_000);
    let load = (0..300).map(|n| Reading {
        sensor: n % 3,
        at: hour(n / 3),
        value: n,
    });
    readings.append_many(Vec::from_iter(load)).await.unwrap();
    record.take();
    let rollup = readings.rollup(&2).windows(hour(10)..hour(20));
    let rollup = rollup.await.unwrap();
    let sum: i128 = (10..20).map(|n| n * 3 + 2).sum();
    assert_eq!((rollup.count(), rollup.value.sum()), (10, sum));
    let plans = examined(&db, &record).await;
    assert!(plans[0].documents <= 11 && plans[0].keys <= 12, "{plans:?}");
}

//! Rollups of one time window after the other are those of these windows' items.

use std::{collections::BTreeMap, ops::Bound};

use bucket_runtime::{
    Bucket, Buckets,
    action::{ReadRollup, RollupSeries},
    mongodb::bson::{DateTime, Document, doc},
};
use futures_util::TryStreamExt;
use proptest::prelude::*;

use crate::support::{
    database::{Live, fresh},
    ops,
    random::for_any,
    scale::scaled,
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "readings", id = "{sensor}_{at/1m}", capacity = 3)]
struct Reading {
    sensor: i64,
    at: DateTime,
    #[bucket(sum, min, max)]
    value: i32,
}

const MINUTE: i64 = 60_000;

fn reading(sensor: i64, millis: i64, value: i32) -> Reading {
    let at = DateTime::from_millis(millis);
    Reading { sensor, at, value }
}

/// Of two sensors, over ten minutes around the beginning of 1970.
fn readings() -> impl Strategy<Value = Vec<Reading>> {
    let of_any = (0..2_i64, -5 * MINUTE..5 * MINUTE, -100..100);
    let of_any = of_any.prop_map(|(sensor, millis, value)| reading(sensor, millis, value));
    prop::collection::vec(of_any, 0..30)
}

/// The start of a group of windows, and its count, sum, minimum and maximum.
type Row = (i64, u64, i128, Option<i32>, Option<i32>);

async fn told(series: RollupSeries<'_, Reading>) -> Vec<Row> {
    let series = series.await.unwrap().map_ok(|window| {
        let value = &window.rollup.value;
        (
            window.start.timestamp_millis(),
            window.rollup.count(),
            value.sum(),
            value.min(),
            value.max(),
        )
    });
    series.try_collect().await.unwrap()
}

/// The rows of a series, computed from a `Vec` of the items.
fn expected<'r>(readings: impl Iterator<Item = &'r Reading>, step: i64) -> Vec<Row> {
    let mut windows = BTreeMap::<i64, Vec<i32>>::new();
    for reading in readings {
        let group = reading.at.timestamp_millis().div_euclid(step);
        windows.entry(group).or_default().push(reading.value);
    }
    let row = |(group, values): (i64, Vec<i32>)| {
        let sum = values.iter().copied().map(i128::from).sum();
        let (min, max) = (values.iter().min().copied(), values.iter().max().copied());
        (group * step, values.len() as u64, sum, min, max)
    };
    windows.into_iter().map(row).collect()
}

fn filled(rows: Vec<Row>, step: i64) -> Vec<Row> {
    let mut all = Vec::<Row>::new();
    for row in rows {
        let first = all.last().map_or(row.0, |last| last.0 + step);
        let gaps = (first..row.0).step_by(step as usize);
        all.extend(gaps.map(|start| (start, 0, 0, None, None)));
        all.push(row);
    }
    all
}

async fn agrees(buckets: &Buckets<Reading>, readings: &[Reading], from: i64, windows: u32) {
    let step = MINUTE * i64::from(windows);
    // The range takes the windows that start in it.
    let is_later =
        |reading: &&Reading| reading.at.timestamp_millis().div_euclid(MINUTE) * MINUTE >= from;
    let later =
        |rollup: ReadRollup<'static, Reading>| rollup.windows(DateTime::from_millis(from)..);
    for sensor in 0..3 {
        let own = readings.iter().filter(|reading| reading.sensor == sensor);
        let rows = expected(own.clone(), step);
        let rollup = || buckets.rollup(&sensor);
        assert_eq!(told(rollup().per_windows(windows)).await, rows);
        let with_gaps = told(rollup().per_windows(windows).with_gaps(true)).await;
        assert_eq!(with_gaps, filled(rows, step));
        let rows = expected(own.filter(is_later), step);
        assert_eq!(told(later(rollup()).per_windows(windows)).await, rows);

        // Within a range there are no gaps at its ends.
        let end = 6 * MINUTE;
        let range = DateTime::from_millis(from)..DateTime::from_millis(end);
        let whole = rollup().windows(range).per_windows(windows);
        let mut rows = BTreeMap::from_iter(rows.into_iter().map(|row| (row.0, row)));
        let groups = from.div_euclid(step)..end.div_euclid(step) + i64::from(end % step > 0);
        for start in groups.map(|group| group * step) {
            rows.entry(start).or_insert((start, 0, 0, None, None));
        }
        assert_eq!(
            told(whole.with_gaps(true)).await,
            Vec::from_iter(rows.into_values())
        );
    }
    let all = told(buckets.rollup_all().per_windows(windows)).await;
    assert_eq!(all, expected(readings.iter(), step));
}

#[bucket_testkit::test(multi_thread)]
async fn a_series_of_rollups_is_that_of_the_items(db: Live) {
    for_any(
        scaled(40),
        (readings(), -6..6_i64, 1..8_u32),
        async |(readings, start, windows)| {
            let buckets = fresh::<Reading>(&db).await;
            buckets.append_many(readings.clone()).await.unwrap();
            agrees(&buckets, &readings, start * MINUTE, windows).await;
        },
    );
}

/// The guide's pipeline: months from what the buckets keep.
#[bucket_testkit::test]
async fn the_guides_months_begin_where_the_calendar_of_utc_says(db: Live) {
    let buckets = fresh::<Reading>(&db).await;
    let millis = |text: &str| {
        let time = DateTime::parse_rfc3339_str(text).unwrap();
        time.timestamp_millis()
    };
    let times = [
        "1969-11-30T23:59:59.999Z",
        "1969-12-01T00:00:00Z",
        "1969-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00Z",
        "2024-02-01T00:00:00Z",
        "2024-02-29T23:59:59.999Z",
        "2024-03-01T00:00:00Z",
    ];
    for (value, time) in (0..).zip(times) {
        let reading = reading(1, millis(time), value);
        buckets.append(&reading).await.unwrap();
    }
    let months = [
        doc! { "$match": buckets.filter(&1) },
        doc! { "$group": {
            "_id": { "$dateTrunc": { "date": "$window", "unit": "month" } },
            "readings": { "$sum": "$count" },
            "highest": { "$max": "$rollup.value.max" },
        } },
        doc! { "$sort": { "_id": 1 } },
    ];
    let months = buckets.collection().aggregate(months).await.unwrap();
    let months: Vec<Document> = months.try_collect().await.unwrap();
    let expected = [
        ("1969-11", 1, 0),
        ("1969-12", 2, 2),
        ("1970-01", 1, 3),
        ("2024-02", 2, 5),
        ("2024-03", 1, 6),
    ];
    let expected = expected.map(|(month, readings, highest)| {
        let month = DateTime::from_millis(millis(&format!("{month}-01T00:00:00Z")));
        doc! { "_id": month, "readings": readings, "highest": i64::from(highest) }
    });
    assert_eq!(months, expected);
}

/// Buckets that keep nothing but their count.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "visits", id = "{page}_{at/1m}", capacity = 3)]
struct Visit {
    page: i64,
    at: DateTime,
}

#[bucket_testkit::test]
async fn a_rollup_without_fields_counts(db: Live) {
    let visits = Visit::buckets(&db).await.unwrap();
    for minute in [0, 0, 2] {
        let at = DateTime::from_millis(minute * MINUTE);
        visits.append(&Visit { page: 1, at }).await.unwrap();
    }
    assert_eq!(visits.rollup(&1).await.unwrap().count(), 3);
    assert_eq!(visits.rollup(&2).await.unwrap().count(), 0);
    let series = visits.rollup_all().per_windows(1).with_gaps(true);
    let counts = series.await.unwrap().map_ok(|window| window.rollup.count());
    assert_eq!(counts.try_collect::<Vec<_>>().await.unwrap(), [2, 0, 1]);
}

#[bucket_testkit::test]
async fn a_series_ends_at_a_rollup_that_does_not_cover_its_items(db: Live) {
    let buckets = Reading::buckets(&db).await.unwrap();
    for minute in 0..3 {
        let reading = reading(1, minute * MINUTE, 1);
        buckets.append(&reading).await.unwrap();
    }
    let lost = doc! { "$unset": { "rollup": 1 } };
    let of_second = doc! { "window": DateTime::from_millis(MINUTE) };
    let raw = buckets.collection();
    raw.update_one(of_second, lost).await.unwrap();
    let series = |windows| buckets.rollup(&1).per_windows(windows).with_gaps(true);
    let mut first = series(1).await.unwrap();
    assert_eq!(first.try_next().await.unwrap().unwrap().rollup.count(), 1);
    let error = first.try_next().await.unwrap_err();
    assert!(error.is_incomplete_rollup(), "{error}");
    // So it does at a window that another program has stored as a text.
    let zero = doc! { "window": DateTime::from_millis(0) };
    let noon = doc! { "window": "noon" };
    let damage = doc! { "$set": &noon };
    raw.update_one(zero.clone(), damage).await.unwrap();
    for windows in [1, 2] {
        let rollups = match series(windows).await {
            Ok(series) => series.try_collect::<Vec<_>>().await,
            // Groups are computed from dates alone, so the server refuses.
            Err(error) => Err(error),
        };
        assert!(rollups.is_err());
    }
    let changed = raw.update_one(noon, doc! { "$set": zero }).await.unwrap();
    assert_eq!(changed.modified_count, 1);
    // 0 is taken for 1, and a group that ends before the damage is read.
    let series = buckets.rollup(&1).windows(..DateTime::from_millis(MINUTE));
    assert_eq!(told(series.per_windows(0)).await.len(), 1);
}

/// A day of India begins at half past six in the evening, UTC.
#[bucket_testkit::test]
async fn a_range_of_windows_that_would_cut_one_is_refused(db: Live) {
    let readings = Reading::buckets(&db).await.unwrap();
    for seconds in [20, 40, 70] {
        let reading = reading(1, seconds * 1000, 1);
        readings.append(&reading).await.unwrap();
    }
    let at = |seconds: i64| DateTime::from_millis(seconds * 1000);
    let since = (Bound::Excluded(at(30)), Bound::Unbounded);
    for range in [
        (Bound::Included(at(30)), Bound::Excluded(at(120))),
        (Bound::Included(at(0)), Bound::Excluded(at(90))),
        (Bound::Included(at(0)), Bound::Included(at(59))),
        since,
    ] {
        let series = readings.rollup(&1).windows(range).per_windows(1);
        for error in [
            readings.rollup(&1).windows(range).await.err(),
            readings.rollup_all().windows(range).await.err(),
            series.await.err(),
            ops(&readings).export(&1).windows(range).await.err(),
            ops(&readings).export_all().windows(range).await.err(),
        ] {
            let error = error.unwrap();
            assert!(error.is_window_mismatch(), "{error}");
            assert!(error.to_string().contains("`filter`"), "{error}");
        }
    }
    let filter = Reading::FIELDS.at.between(at(30)..at(90));
    let rollup = readings.rollup(&1).filter(filter).await.unwrap();
    assert_eq!(rollup.count(), 2);
    for (range, count) in [
        ((Bound::Included(at(60)), Bound::Unbounded), 1),
        ((Bound::Unbounded, Bound::Excluded(at(60))), 2),
        ((Bound::Unbounded, Bound::Included(at(60))), 3),
        ((Bound::Excluded(at(0)), Bound::Excluded(DateTime::MAX)), 1),
    ] {
        let rollup = readings.rollup(&1).windows(range).await.unwrap();
        assert_eq!(rollup.count(), count);
    }
}

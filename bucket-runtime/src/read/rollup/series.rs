//! Rollups of one time window after the other.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::stream::{BoxStream, Stream, StreamExt, try_unfold};
use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{ReadRollup, read_rollup};
use crate::{
    Bucket, Result, Windowed,
    error::Kind,
    schema::spec::{BucketSpec, Ordinal},
    server::cursor::DocumentCursor,
    value::rollup::Rollup,
};

impl<'s, T: Bucket> ReadRollup<'s, T> {
    /// Reads a rollup of each time window, in the order of time.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, bson::DateTime, mongodb::Database};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "readings", id = "{sensor}_{at/1h}", capacity = 3600)]
    /// # struct Reading { sensor: i64, at: DateTime, #[bucket(sum, min, max)] celsius: f64 }
    /// # async fn example(db: &Database, midnight: DateTime) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let readings = Reading::buckets(db).await?;
    /// let mut hours = readings.rollup(&7).windows(midnight..).per_window().await?;
    /// while let Some(hour) = hours.try_next().await? {
    ///     println!("{}: {:?} °C on average", hour.start, hour.rollup.celsius.mean());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn per_window(self) -> RollupSeries<'s, T>
    where
        T: Windowed,
    {
        self.per_windows(1)
    }

    /// Reads a rollup of each group of this many time windows: with windows of an hour,
    /// `per_windows(24)` reads one for each day of UTC. Groups are counted from 1970 on. 0 is taken for 1.
    pub fn per_windows(self, windows: u32) -> RollupSeries<'s, T>
    where
        T: Windowed,
    {
        self.per(Group::Windows(windows.max(1)))
    }

    /// Reads a rollup of each calendar month of UTC: of the windows that start in it. A window that is no divisor of
    /// a day, such as one of seven days, may reach into the next month.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, bson::DateTime};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "readings", id = "{sensor}_{at/1d}", capacity = 3600)]
    /// # struct Reading { sensor: i64, at: DateTime, #[bucket(sum, min, max)] celsius: f64 }
    /// # async fn example(readings: Buckets<Reading>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut months = readings.rollup(&7).per_month().with_gaps().await?;
    /// while let Some(month) = months.try_next().await? {
    ///     println!("{}: {:?} °C at most", month.start, month.rollup.celsius.max());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn per_month(self) -> RollupSeries<'s, T>
    where
        T: Windowed,
    {
        self.per(Group::Month)
    }

    fn per(self, group: Group) -> RollupSeries<'s, T> {
        RollupSeries {
            rollup: self,
            group,
            gaps: false,
        }
    }
}

/// Builder of a read of a rollup for each time window: await it; see [`ReadRollup::per_window`]. The output
/// is a [`RollupStream`].
///
/// One round trip per batch. The server adds up what the buckets keep, and reads no items.
///
/// A window whose buckets do not keep the rollup of all their items ends the stream with
/// [`is_incomplete_rollup`](crate::Error::is_incomplete_rollup).
#[must_use = "nothing is added up until this is awaited"]
pub struct RollupSeries<'s, T> {
    rollup: ReadRollup<'s, T>,
    group: Group,
    gaps: bool,
}

/// The windows whose rollups are added up.
#[derive(Debug, Clone, Copy)]
enum Group {
    /// This many at a time.
    Windows(u32),
    /// Those that start in the same calendar month of UTC.
    Month,
}

/// The rollup of a time window, or of several.
#[non_exhaustive]
pub struct WindowRollup<T: Bucket> {
    /// When the first of the windows starts; of a month, its beginning.
    pub start: DateTime,
    /// The rollup of the items in these windows.
    pub rollup: Rollup<T>,
}

impl<T: Bucket> WindowRollup<T> {
    /// The rollup in a row; `None` if it does not cover all items, or if another program has stored a
    /// window that is not a date.
    fn of(row: &Document) -> Option<Self> {
        Some(Self {
            start: *row.get_datetime("_id").ok()?,
            rollup: read_rollup(row)?,
        })
    }
}

impl<T: Bucket> Clone for WindowRollup<T> {
    fn clone(&self) -> Self {
        Self {
            start: self.start,
            rollup: self.rollup.clone(),
        }
    }
}

impl<T: Bucket> fmt::Debug for WindowRollup<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowRollup")
            .field("start", &self.start)
            .field("rollup", &self.rollup)
            .finish()
    }
}

impl<'s, T: Bucket> RollupSeries<'s, T> {
    /// Gives an empty rollup for each window, group of windows or month without items between two that have some, as
    /// a chart needs it. Otherwise these are left out.
    pub fn with_gaps(mut self) -> Self {
        self.gaps = true;
        self
    }

    pub(crate) async fn execute(self) -> Result<RollupStream<'s, T>> {
        let start = self.group.start(&T::SPEC);
        let state = SeriesRows {
            rows: self.rollup.rows(start, false).await?,
            found: None,
            next: None,
            gaps: self.gaps.then_some(self.group),
        };
        let series = try_unfold(state, async |mut state| {
            if state.found.is_none() {
                let Some(row) = state.rows.next_row().await? else {
                    return Ok(None);
                };
                let found = WindowRollup::of(&row);
                let incomplete = || state.rows.target().error(Kind::IncompleteRollup);
                state.found = Some(found.ok_or_else(incomplete)?);
            }
            Ok(state.next_rollup().map(|next| (next, state)))
        });
        Ok(RollupStream(series.boxed()))
    }
}

/// The milliseconds of a group of windows, capped, since the pipeline adds two of them.
fn step(spec: &BucketSpec, windows: u32) -> i64 {
    let Ordinal::Window { seconds } = spec.id.ordinal else {
        // Without windows a series does not compile.
        return 1;
    };
    let window = i64::from(seconds) * 1000;
    window.saturating_mul(windows.into()).min(i64::MAX / 2)
}

impl Group {
    /// The start of the group that a bucket's window belongs to. The server's remainder has the sign of the
    /// dividend, so times before 1970 need a second one.
    fn start(self, spec: &BucketSpec) -> Bson {
        let window = format!("${}", spec.window_name().unwrap_or_default());
        let windows = match self {
            Self::Windows(1) => return window.into(),
            Self::Windows(windows) => windows,
            Self::Month => {
                return doc! { "$dateTrunc": { "date": window, "unit": "month" } }.into();
            }
        };
        let step = step(spec, windows);
        let remainder = doc! { "$mod": [{ "$toLong": &window }, step] };
        let remainder = doc! { "$mod": [{ "$add": [remainder, step] }, step] };
        doc! { "$subtract": [window, remainder] }.into()
    }

    /// The start of the group after the one that starts at this time.
    fn next(self, spec: &BucketSpec, start: DateTime) -> DateTime {
        let start = start.timestamp_millis();
        DateTime::from_millis(match self {
            Self::Windows(windows) => start.saturating_add(step(spec, windows)),
            Self::Month => next_month(start),
        })
    }
}

const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1000;

/// The beginning of the month after the one that begins at this time, in milliseconds of UTC.
fn next_month(start: i64) -> i64 {
    // No month is longer, and none is so short that this would be in the one after the next.
    let days = start.div_euclid(MILLIS_PER_DAY) + 31;
    (days - days_into_month(days)).saturating_mul(MILLIS_PER_DAY)
}

/// The number of days before this one in its month, for a day that is counted from 1970 on. The years are taken to
/// begin in March, so that the day of the leap year is the last one, and the months have a regular length.
fn days_into_month(days: i64) -> i64 {
    const DAYS_IN_400_YEARS: i64 = 146_097;
    // From 1 March 0000 on.
    let day = (days + 719_468).rem_euclid(DAYS_IN_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / (DAYS_IN_400_YEARS - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    day - (153 * month + 2) / 5
}

#[test]
fn months_follow_each_other_in_every_kind_of_year() {
    let millis = |text| {
        DateTime::parse_rfc3339_str(text)
            .unwrap()
            .timestamp_millis()
    };
    for (year, days) in [
        (1600, 29),
        (1900, 28),
        (1969, 28),
        (2000, 29),
        (2023, 28),
        (2024, 29),
    ] {
        let mut start = millis(format!("{year}-01-01T00:00:00Z"));
        let lengths = [31, days, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in (1..).zip(lengths) {
            let next = next_month(start);
            assert_eq!(
                next - start,
                length * MILLIS_PER_DAY,
                "month {month} of {year}"
            );
            start = next;
        }
        assert_eq!(start, millis(format!("{}-01-01T00:00:00Z", year + 1)));
    }
}

/// The rows of a series, and what was read or given of them.
struct SeriesRows<'s, T: Bucket> {
    rows: DocumentCursor<'s, Document>,
    /// A rollup that was read and not given yet.
    found: Option<WindowRollup<T>>,
    /// The start of the group after the last one that was given.
    next: Option<DateTime>,
    /// The groups, if empty ones are given.
    gaps: Option<Group>,
}

impl<T: Bucket> SeriesRows<'_, T> {
    /// The found rollup, or an empty one if there is a gap before it.
    fn next_rollup(&mut self) -> Option<WindowRollup<T>> {
        let found = self.found.as_ref()?;
        let gap = self.next.filter(|next| *next < found.start);
        let rollup = match gap {
            Some(start) => WindowRollup {
                start,
                rollup: Rollup::empty()?,
            },
            None => self.found.take()?,
        };
        self.next = self.gaps.map(|group| group.next(&T::SPEC, rollup.start));
        Some(rollup)
    }
}

/// Rollups of time windows, in the order of time.
///
/// It holds one batch of the driver at a time. Dropping it closes the server's cursor.
pub struct RollupStream<'s, T: Bucket>(BoxStream<'s, Result<WindowRollup<T>>>);

impl<T: Bucket> Stream for RollupStream<'_, T> {
    type Item = Result<WindowRollup<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

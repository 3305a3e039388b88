//! Rollups of one time window after the other.

use std::fmt;

use bucket_core::{
    error::Kind,
    schema::{
        id,
        spec::{BucketSpec, Ordinal},
    },
    server::read::cursor::DocumentCursor,
};
use futures_util::stream::try_unfold;
use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{ReadRollup, read_rollup};
use crate::{
    Bucket, Result, Windowed,
    read::{rollup::typed::Rollup, stream::ReadStream},
};

impl<'s, T: Bucket> ReadRollup<'s, T> {
    /// Reads a rollup of each group of this many time windows, in the order of time: of each window
    /// with `per_windows(1)`, and with windows of an hour of each day of UTC with
    /// `per_windows(24)`. Groups are counted from 1970 on. 0 is taken for 1.
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
    /// let mut hours = readings.rollup(&7).windows(midnight..).per_windows(1).await?;
    /// while let Some(hour) = hours.try_next().await? {
    ///     println!("{}: {:?} °C on average", hour.start, hour.rollup.celsius.mean());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn per_windows(self, windows: u32) -> RollupSeries<'s, T>
    where
        T: Windowed,
    {
        RollupSeries {
            rollup: self,
            windows: windows.max(1),
            gaps: false,
        }
    }
}

/// Builder of a read of a rollup for each time window: await it; see [`ReadRollup::per_windows`].
/// The output is a [`ReadStream`] of [`WindowRollup`]s.
///
/// One round trip per batch. The server adds up what the buckets keep, and reads no items.
///
/// A window whose buckets do not keep the rollup of all their items ends the stream with
/// [`is_incomplete_rollup`](crate::Error::is_incomplete_rollup).
#[must_use = "nothing is added up until this is awaited"]
pub struct RollupSeries<'s, T> {
    rollup: ReadRollup<'s, T>,
    /// How many windows a rollup is of.
    windows: u32,
    gaps: bool,
}

/// The rollup of a time window, or of several.
#[non_exhaustive]
pub struct WindowRollup<T: Bucket> {
    /// When the first of the windows starts.
    pub start: DateTime,
    /// The rollup of the items in these windows.
    pub rollup: Rollup<T>,
}

impl<T: Bucket> WindowRollup<T> {
    /// The rollup in a row; `None` if it does not cover all items, or if another program has stored
    /// a window that is not a date.
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
    /// Gives an empty rollup for each window, or group of windows, without items between two that
    /// have some, as a chart needs it; where [`windows`](ReadRollup::windows) has bounds, also
    /// before the first and after the last that have some. Otherwise these are left out.
    pub fn with_gaps(mut self, gaps: bool) -> Self {
        self.gaps = gaps;
        self
    }

    pub(crate) async fn execute(mut self) -> Result<ReadStream<'s, WindowRollup<T>>> {
        self.rollup.read.apply_to(&mut self.rollup.target.server);
        let step = step(&T::SPEC, self.windows);
        let range = &self.rollup.windows;
        // The group that holds the first window may start before it.
        let of_first = |millis: i64| millis.saturating_sub(millis.rem_euclid(step));
        let next = range.first.map(DateTime::timestamp_millis).map(of_first);
        // No window lies beyond the times that ids can hold.
        let end = range.end.map(DateTime::timestamp_millis);
        let end = end.filter(|end| id::window_start(T::SPEC.id.ordinal, *end).is_some());
        let start = group_start(&T::SPEC, self.windows, step);
        let mut pipeline = self.rollup.pipeline(start)?;
        pipeline.push(doc! { "$sort": { "_id": 1 } });
        let rows = self.rollup.target.borrow().pipeline(pipeline);
        let state = SeriesRows {
            rows: rows.cursor(self.rollup.read.session).await?,
            found: None,
            next: next.filter(|_| self.gaps),
            end,
            step: self.gaps.then_some(step),
        };
        let series = try_unfold(state, async |mut state| {
            if state.found.is_none() {
                let row = state.rows.next_decoded().await?;
                let incomplete = || state.rows.target().error(Kind::IncompleteRollup);
                let found = row.map(|row| WindowRollup::of(&row).ok_or_else(incomplete));
                state.found = found.transpose()?;
            }
            Ok(state.next_rollup().map(|next| (next, state)))
        });
        Ok(ReadStream::new(series))
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

/// The start of the group that a bucket's window belongs to. The server's remainder has the sign of
/// the dividend, so times before 1970 need a second one.
fn group_start(spec: &BucketSpec, windows: u32, step: i64) -> Bson {
    let window = format!("${}", spec.window_name().unwrap_or_default());
    if windows == 1 {
        return window.into();
    }
    let remainder = doc! { "$mod": [{ "$toLong": &window }, step] };
    let remainder = doc! { "$mod": [{ "$add": [remainder, step] }, step] };
    doc! { "$subtract": [window, remainder] }.into()
}

/// The rows of a series, and what was read or given of them.
struct SeriesRows<'s, T: Bucket> {
    rows: DocumentCursor<'s>,
    /// A rollup that was read and not given yet.
    found: Option<WindowRollup<T>>,
    /// The start of the group after the last one that was given, or of the first one of a range.
    next: Option<i64>,
    /// The end of the range.
    end: Option<i64>,
    /// The milliseconds from group to group, if empty ones are given.
    step: Option<i64>,
}

impl<T: Bucket> SeriesRows<'_, T> {
    /// The found rollup, or an empty one if there is a gap before it.
    fn next_rollup(&mut self) -> Option<WindowRollup<T>> {
        let found = self.found.as_ref();
        let end = found
            .map(|found| found.start.timestamp_millis())
            .or(self.end);
        let gap = self.next.filter(|next| end.is_some_and(|end| *next < end));
        let rollup = match gap {
            Some(start) => WindowRollup {
                start: DateTime::from_millis(start),
                rollup: Rollup::empty()?,
            },
            None => self.found.take()?,
        };
        let start = rollup.start.timestamp_millis();
        self.next = self.step.map(|step| start.saturating_add(step));
        Some(rollup)
    }
}

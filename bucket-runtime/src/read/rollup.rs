//! Adds up the rollups of buckets, on the server.

mod series;

use std::{
    marker::PhantomData,
    ops::{Bound, RangeBounds},
};

use mongodb::{
    ClientSession,
    bson::{Bson, DateTime, Document},
};

pub use self::series::{RollupSeries, RollupStream, WindowRollup};
use crate::{
    Bucket, Buckets, KeyRef, Result, Windowed,
    error::Kind,
    protocol::{command::KeyScope, time_bounds::TimeBounds},
    read::settings::read_settings,
    schema::spec::BucketSpec,
    server::Server,
    value::{
        element::whole,
        rollup::{Rollup, Totals, totals},
    },
};

impl<T: Bucket> Buckets<T> {
    /// Adds up the rollups of a key's buckets (`#[bucket(sum, min, max)]`) on the server: see
    /// [`Rollup`](crate::Rollup). One round trip, which reads the key's buckets but not their items.
    ///
    /// # Errors
    ///
    /// [`is_incomplete_rollup`](crate::Error::is_incomplete_rollup) if a bucket's rollup is missing or
    /// does not cover all its items.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, bson::DateTime, mongodb::Database};
    /// #[derive(Bucket)]
    /// #[bucket(collection = "readings", id = "{sensor}_{at/1h}", capacity = 3600)]
    /// struct Reading {
    ///     sensor: i64,
    ///     at: DateTime,
    ///     #[bucket(sum, min, max)]
    ///     celsius: f64,
    /// }
    ///
    /// # async fn example(db: &Database, midnight: DateTime) -> bucket_runtime::Result<()> {
    /// let readings = Reading::buckets(db).await?;
    /// let today = readings.rollup(&7).windows(midnight..).await?;
    /// println!("{} readings, {:?} °C on average", today.count(), today.celsius.mean());
    /// # Ok(())
    /// # }
    /// ```
    pub fn rollup(&self, key: KeyRef<'_, T>) -> ReadRollup<'static, T> {
        ReadRollup::new(&self.writer.engine.server, Some(self.scope(key).key))
    }

    /// Adds up the rollups of all keys' buckets on the server. It reads all buckets; otherwise it is
    /// like [`rollup`](Self::rollup).
    pub fn rollup_all(&self) -> ReadRollup<'static, T> {
        ReadRollup::new(&self.writer.engine.server, None)
    }
}

/// Builder of a read of rollups: await it; see [`Buckets::rollup`](crate::Buckets::rollup).
#[must_use = "nothing is added up until this is awaited"]
pub struct ReadRollup<'s, T> {
    server: Server,
    scope: Option<KeyScope>,
    windows: Document,
    session: Option<&'s mut ClientSession>,
    item: PhantomData<fn() -> T>,
}

impl<'s, T: Bucket> ReadRollup<'s, T> {
    pub(crate) fn new(server: &Server, scope: Option<KeyScope>) -> Self {
        Self {
            server: server.clone(),
            scope,
            windows: Document::new(),
            session: None,
            item: PhantomData,
        }
    }

    /// Reads only the time windows that start in this range, such as `midnight..`. Does not compile for
    /// a struct without windows.
    ///
    /// For one key the server visits only these windows; for all keys it does so with an index of yours
    /// on the field `window`.
    pub fn windows(mut self, range: impl RangeBounds<DateTime>) -> Self
    where
        T: Windowed,
    {
        const {
            assert!(
                T::SPEC.window_name().is_some(),
                "the id format ends in no time window"
            )
        };
        for (bound, including, excluding) in [
            (range.start_bound(), "$gte", "$gt"),
            (range.end_bound(), "$lte", "$lt"),
        ] {
            match bound {
                Bound::Included(start) => self.windows.insert(including, *start),
                Bound::Excluded(start) => self.windows.insert(excluding, *start),
                Bound::Unbounded => None,
            };
        }
        self
    }

    read_settings!(|reads| reads.server);

    /// Reads in this session.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(self) -> Result<Rollup<T>> {
        let Self {
            server,
            scope,
            windows,
            session,
            ..
        } = self;
        let context = server.context_of_any(scope.as_ref());
        let filter = filter(&T::SPEC, scope.as_ref(), windows);
        let pipeline = totals::pipeline(&T::SPEC, filter, Bson::Null);
        let found = server.aggregate::<Document>(pipeline, session).await;
        let found = found.map_err(|error| context.read(error))?;
        let rollup = match found.first() {
            Some(row) => read(row),
            None => Rollup::empty(),
        };
        rollup.ok_or_else(|| context.kind(Kind::IncompleteRollup))
    }
}

/// The rollup in a row; `None` if it does not cover all items.
fn read<T: Bucket>(row: &Document) -> Option<Rollup<T>> {
    let number = |name| row.get(name).and_then(whole).unwrap_or(0);
    if number("incomplete") > 0 {
        return None;
    }
    let items = u64::try_from(number("items")).unwrap_or(0);
    let totals = match row.get_document("rollup") {
        Ok(stored) => Totals::read(&T::SPEC, stored, items)?,
        // The struct keeps nothing but the count.
        Err(_) => Totals::new(&T::SPEC),
    };
    Rollup::read(items, totals)
}

/// The buckets whose rollups are added up.
fn filter(spec: &BucketSpec, scope: Option<&KeyScope>, windows: Document) -> Document {
    let Some(name) = spec.window_name().filter(|_| !windows.is_empty()) else {
        return scope.map(KeyScope::all).unwrap_or_default();
    };
    let mut filter = scope
        .map(|scope| scope.within(TimeBounds::of_operators(&windows)))
        .unwrap_or_default();
    filter.insert(name, windows);
    filter
}

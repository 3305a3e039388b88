//! Adds up the rollups of buckets, on the server.

mod series;
pub(crate) mod typed;

use std::{marker::PhantomData, ops::RangeBounds};

use bucket_core::{
    error::Kind,
    protocol::{command::holds_items, filter::Filter, query::Query, window_range::WindowRange},
    server::target::OwnedTarget,
    value::{
        number::whole,
        rollup::{Totals, totals},
    },
};
use mongodb::bson::{Bson, DateTime, Document, doc};

pub use self::series::{RollupSeries, WindowRollup};
use crate::{
    Bucket, Buckets, KeyRef, Result, Windowed,
    read::{
        rollup::typed::Rollup,
        settings::{ReadSettings, read_settings},
    },
};

impl<T: Bucket> Buckets<T> {
    /// Adds up the rollups of a key's buckets (`#[bucket(sum, min, max)]`) on the server: see
    /// [`Rollup`](crate::Rollup). One round trip, which reads the key's buckets but not their
    /// items.
    ///
    /// # Errors
    ///
    /// [`is_incomplete_rollup`](crate::Error::is_incomplete_rollup) if a bucket's rollup is missing
    /// or does not cover all its items.
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
        ReadRollup {
            target: self.target(key),
            ..self.rollup_all()
        }
    }

    /// Adds up the rollups of all keys' buckets on the server. It reads all buckets; otherwise it
    /// is like [`rollup`](Self::rollup).
    pub fn rollup_all(&self) -> ReadRollup<'static, T> {
        ReadRollup {
            target: self.target_of_all(),
            windows: WindowRange::default(),
            query: Query::everything(),
            read: ReadSettings::default(),
            item: PhantomData,
        }
    }
}

/// Builder of a read of rollups: await it; see [`Buckets::rollup`](crate::Buckets::rollup).
#[must_use = "nothing is added up until this is awaited"]
pub struct ReadRollup<'s, T> {
    target: OwnedTarget,
    windows: WindowRange,
    query: Query,
    read: ReadSettings<'s>,
    item: PhantomData<fn() -> T>,
}

impl<'s, T: Bucket> ReadRollup<'s, T> {
    /// Reads only the time windows in this range, such as `midnight..` with a midnight in UTC. Does
    /// not compile for a struct without windows.
    ///
    /// # Errors
    ///
    /// [`is_window_mismatch`](crate::Error::is_window_mismatch) if a bound is inside of a window: a
    /// [`filter`](Self::filter) by time takes any bounds.
    ///
    /// For one key the server visits only these windows; for all keys it does so with an index of
    /// yours on the field `window`.
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
        self.windows.narrow(&T::SPEC, range);
        self
    }

    /// Adds up only the items that match; called again, those that match both conditions.
    ///
    /// Conditions on key fields alone choose buckets, and the server still adds up what these keep.
    /// With other conditions it reads the items of the buckets that may hold a match, and adds up
    /// their values: a value that serde left out then counts as none. A marked field that is stored
    /// neither as a number nor as a date, such as a time of another crate without `bson_date`, is
    /// [`is_incomplete_rollup`](crate::Error::is_incomplete_rollup).
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, ticker: String, #[bucket(sum)] quantity: i64 }
    /// # async fn example(trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let of_mongo = trades.rollup(&123).filter(Trade::FIELDS.ticker.eq("MDB")).await?;
    /// println!("{} shares in {} trades", of_mongo.quantity.sum(), of_mongo.count());
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(mut self, filter: Filter<T>) -> Self {
        self.query.filter = self.query.filter.and(filter.node);
        self
    }

    read_settings!(|rollup| rollup.read);

    pub(crate) async fn execute(mut self) -> Result<Rollup<T>> {
        self.read.apply_to(&mut self.target.server);
        let target = self.target.borrow();
        let added_up = target.pipeline(self.pipeline(Bson::Null)?);
        let rollup = match added_up.first(self.read.session).await? {
            Some(row) => read_rollup(&row),
            None => Rollup::empty(),
        };
        rollup.ok_or_else(|| target.error(Kind::IncompleteRollup))
    }

    /// The stages that add up the rollups for each value of the expression `group`.
    fn pipeline(&self, group: Bson) -> Result<Vec<Document>> {
        let (spec, scope) = (&T::SPEC, self.target.scope.as_ref());
        let buckets = self.windows.buckets(spec, scope);
        let mut buckets = buckets.map_err(|kind| self.target.borrow().error(kind))?;
        if !self.query.filter.is_everything() {
            buckets = doc! { "$and": [buckets, self.query.buckets(spec, scope, None)] };
        }
        // A window that lost its items has no row.
        buckets.extend([holds_items(spec.items)]);
        let mut stages = vec![doc! { "$match": buckets }];
        if self.query.filter.is_on_items() {
            stages.extend(self.query.unwound_items(spec));
            stages.push(totals::of_item(spec));
        }
        stages.extend(totals::added_up(spec, group));
        Ok(stages)
    }
}

/// The rollup in a row; `None` if it does not cover all items.
fn read_rollup<T: Bucket>(row: &Document) -> Option<Rollup<T>> {
    let number = |name| row.get(name).and_then(whole).unwrap_or(0);
    if number("incomplete") > 0 {
        return None;
    }
    let items = u64::try_from(number("items")).unwrap_or(0);
    // There is none if the struct keeps nothing but the count.
    let stored = row.get_document("rollup").cloned().unwrap_or_default();
    Rollup::read(items, Totals::read(&T::SPEC, &stored, items)?)
}

//! A rollup for each value of a field.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::stream::{BoxStream, Stream, StreamExt, try_unfold};
use mongodb::bson::{Bson, doc};
use serde::de::DeserializeOwned;

use super::{ReadRollup, read_rollup};
use crate::{
    Bucket, Result,
    error::Kind,
    protocol::field::{Date, Field, Plain, Presence},
    schema::time::TimeField,
    value::{rollup::Rollup, unreadable::read_value},
};

/// The type of a field, stored in the form `S`, whose values can be read for groups.
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` cannot be read for groups",
    label = "serde does not read this type as it is stored",
    note = "help: group by a field that serde stores, or that `bson_date` does"
)]
pub trait GroupValue<S = Plain>: Sized {
    /// Reads a stored value; `Null` stands for a missing one, too.
    fn of_stored(value: Bson) -> Option<Self>;
}

impl<V: DeserializeOwned> GroupValue<Plain> for V {
    fn of_stored(value: Bson) -> Option<Self> {
        read_value(value).ok()
    }
}

impl<D: TimeField> GroupValue<Date> for D {
    fn of_stored(value: Bson) -> Option<Self> {
        Self::from_datetime(*value.as_datetime()?)
    }
}

impl<D: TimeField> GroupValue<Date> for Option<D> {
    fn of_stored(value: Bson) -> Option<Self> {
        match value {
            Bson::Null => Some(None),
            value => D::of_stored(value).map(Some),
        }
    }
}

impl<'s, T: Bucket> ReadRollup<'s, T> {
    /// Reads a rollup for each value of a field, in the order of the values.
    ///
    /// For a key field the server adds up what the buckets keep. For another field it reads the items, as
    /// with a [`filter`](Self::filter) on items. A field inside of an `Option` has an `Option` as its value, and
    /// one inside a variant of an enum adds up the items of this variant alone.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, ticker: String, #[bucket(sum)] quantity: i64 }
    /// # async fn example(trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut tickers = trades.rollup(&123).by(Trade::FIELDS.ticker).await?;
    /// while let Some(of) = tickers.try_next().await? {
    ///     println!("{}: {} shares", of.value, of.rollup.quantity.sum());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn by<V, S, P>(mut self, field: Field<T, V, S, P>) -> RollupGroups<'s, T, P::Value<V>>
    where
        V: GroupValue<S>,
        P: Presence,
    {
        self.query.filter = self.query.filter.and(field.is_of_variant());
        RollupGroups {
            rollup: self,
            name: field.name(),
            is_key: field.is_key(),
            read: |stored| P::read(stored, V::of_stored),
        }
    }
}

/// Builder of a read of a rollup for each value of a field: await it; see [`ReadRollup::by`]. The output is
/// a [`GroupStream`]. One round trip per batch.
#[must_use = "nothing is added up until this is awaited"]
pub struct RollupGroups<'s, T, V> {
    rollup: ReadRollup<'s, T>,
    name: &'static str,
    is_key: bool,
    read: fn(Bson) -> Option<V>,
}

/// The rollup of the items that have this value.
#[non_exhaustive]
pub struct GroupRollup<T: Bucket, V> {
    /// The value of the field.
    pub value: V,
    /// The rollup of the items with this value.
    pub rollup: Rollup<T>,
}

impl<T: Bucket, V: Clone> Clone for GroupRollup<T, V> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            rollup: self.rollup.clone(),
        }
    }
}

impl<T: Bucket, V: fmt::Debug> fmt::Debug for GroupRollup<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupRollup")
            .field("value", &self.value)
            .field("rollup", &self.rollup)
            .finish()
    }
}

impl<'s, T: Bucket, V: Send + 'static> RollupGroups<'s, T, V> {
    pub(crate) async fn execute(self) -> Result<GroupStream<'s, T, V>> {
        let path = match self.is_key {
            true => format!("${}", self.name),
            false => format!("${}.{}", T::SPEC.items, self.name),
        };
        // A missing field and a null are one group.
        let group = doc! { "$ifNull": [path, Bson::Null] };
        let state = (
            self.rollup.rows(group.into(), !self.is_key).await?,
            self.name,
            self.read,
        );
        let groups = try_unfold(state, async |(mut rows, name, of_stored)| {
            let Some(mut row) = rows.next_row().await? else {
                return Ok(None);
            };
            let stored = row.remove("_id").unwrap_or(Bson::Null);
            let unreadable = Kind::GroupValue(name, stored.to_string());
            let fail = |kind| rows.target().error(kind);
            let value = of_stored(stored).ok_or_else(|| fail(unreadable))?;
            let rollup = read_rollup(&row).ok_or_else(|| fail(Kind::IncompleteRollup))?;
            Ok(Some((
                GroupRollup { value, rollup },
                (rows, name, of_stored),
            )))
        });
        Ok(GroupStream(groups.boxed()))
    }
}

/// Rollups for the values of a field, in the order of the values.
///
/// It holds one batch of the driver at a time. Dropping it closes the server's cursor.
pub struct GroupStream<'s, T: Bucket, V>(BoxStream<'s, Result<GroupRollup<T, V>>>);

impl<T: Bucket, V> Stream for GroupStream<'_, T, V> {
    type Item = Result<GroupRollup<T, V>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

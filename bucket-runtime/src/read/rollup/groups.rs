//! A rollup for each value of a field.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::stream::{BoxStream, Stream, StreamExt, try_unfold};
use mongodb::bson::{Bson, Document, doc};
use serde::de::DeserializeOwned;

use super::{ReadRollup, read};
use crate::{
    Bucket, Result,
    error::Kind,
    protocol::field::{Date, Field, Plain},
    schema::time::TimeField,
    server::context::ErrorContext,
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
    /// with a [`filter`](Self::filter) on items.
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
    pub fn by<V: GroupValue<S>, S, P>(self, field: Field<T, V, S, P>) -> RollupGroups<'s, T, V> {
        let mut rollup = self;
        let of_variant = field.exists_in_variant();
        rollup.query.filter = rollup.query.filter.and(of_variant);
        RollupGroups {
            rollup,
            name: field.name(),
            is_key: field.is_key(),
            read: V::of_stored,
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
    /// What its items add up to.
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
        let by = doc! { "$ifNull": [path, Bson::Null] };
        let mut pipeline = self.rollup.pipeline(by.into(), !self.is_key);
        pipeline.push(doc! { "$sort": { "_id": 1 } });
        let ReadRollup {
            server,
            scope,
            session,
            ..
        } = self.rollup;
        let rows = server.stream::<Document>(pipeline, None, session).await;
        let rows = rows.map_err(|error| server.context_of_any(scope.as_ref()).read(error))?;
        let (name, read_stored) = (self.name, self.read);
        let group = move |context: ErrorContext<'_>, mut row: Document| -> Result<_> {
            let stored = row.remove("_id").unwrap_or(Bson::Null);
            let unreadable = Kind::GroupValue(name, stored.to_string());
            let value = read_stored(stored).ok_or_else(|| context.kind(unreadable))?;
            let rollup = read(&row).ok_or_else(|| context.kind(Kind::IncompleteRollup))?;
            Ok(GroupRollup { value, rollup })
        };
        let state = (rows, server, scope, group);
        let groups = try_unfold(state, async |(mut rows, server, scope, group)| {
            let context = server.context_of_any(scope.as_ref());
            if !rows.advance().await.map_err(|error| context.read(error))? {
                return Ok(None);
            }
            let row = rows.decode().map_err(|error| context.read(error))?;
            let next = group(context, row)?;
            Ok(Some((next, (rows, server, scope, group))))
        });
        Ok(GroupStream {
            groups: groups.boxed(),
            of: PhantomData,
        })
    }
}

/// Rollups for the values of a field, in the order of the values.
///
/// It holds one batch of the driver at a time. Dropping it closes the server's cursor.
pub struct GroupStream<'s, T: Bucket, V> {
    groups: BoxStream<'s, Result<GroupRollup<T, V>>>,
    of: PhantomData<fn() -> V>,
}

impl<T: Bucket, V> Stream for GroupStream<'_, T, V> {
    type Item = Result<GroupRollup<T, V>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.groups.poll_next_unpin(cx)
    }
}

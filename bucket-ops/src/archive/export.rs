//! Streams buckets as lines of extended JSON.

use std::{marker::PhantomData, ops::RangeBounds};

use bucket_core::{
    error::Kind,
    protocol::{
        command::KeyScope, filter::Filter, query::Query, range::Range, window_range::WindowRange,
    },
    server::Server,
};
use bucket_runtime::{Bucket, Key, KeyRef, ReadStream, Result, Windowed};
use futures_util::stream::try_unfold;
use mongodb::{
    ClientSession,
    bson::{DateTime, RawDocumentBuf, doc},
};

use super::json;

/// Builder of an export: await it; see [`Ops::export`](crate::Ops::export). The output is a
/// [`ReadStream`] of buckets as lines of extended JSON, without line ends.
#[must_use = "nothing is read until this is awaited"]
pub struct Export<'s, T> {
    server: Server,
    scope: Option<KeyScope>,
    windows: WindowRange,
    holding: Query,
    session: Option<&'s mut ClientSession>,
    item: PhantomData<fn() -> T>,
}

impl<'s, T: Bucket> Export<'s, T> {
    pub(crate) fn new(server: Server, key: Option<KeyRef<'_, T>>) -> Self {
        let spec = const { &T::SPEC };
        Self {
            server,
            scope: key.map(|key| KeyScope::new(spec, T::Key::parts(key))),
            windows: WindowRange::default(),
            holding: Query::everything(),
            session: None,
            item: PhantomData,
        }
    }

    /// Exports only the time windows in this range, such as `..midnight` with a midnight in UTC.
    /// Does not compile for a struct without windows.
    ///
    /// # Errors
    ///
    /// [`is_window_mismatch`](bucket_runtime::Error::is_window_mismatch) if a bound is inside of a
    /// window: [`holding`](Self::holding) takes any time.
    ///
    /// For one key the server visits only these windows; for all keys it does so with an index of
    /// yours on the field `window`.
    pub fn windows(mut self, range: impl RangeBounds<DateTime>) -> Self
    where
        T: Windowed,
    {
        self.windows.narrow(&T::SPEC, range);
        self
    }

    /// Exports each bucket that holds an item that matches, as a whole, with its other items. All
    /// items that [`remove_items`](bucket_runtime::Buckets::remove_items) with the same condition would remove at
    /// that moment are then in the lines. Other buckets may be among them, such as for a condition
    /// with `!`.
    ///
    /// ```no_run
    /// # use bucket_ops::Ops;
    /// # use bucket_runtime::{Bucket, bson::DateTime};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
    /// # struct Trade { customer_id: i64, date: DateTime, quantity: i32 }
    /// # async fn example(ops: Ops<Trade>, limit: DateTime) -> bucket_runtime::Result<()> {
    /// let old = ops.export(&123).holding(Trade::FIELDS.date.lt(limit)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn holding(mut self, filter: Filter<T>) -> Self {
        self.holding = Query::of(filter);
        self
    }

    /// Reads in this session, which the stream borrows.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(self) -> Result<ReadStream<'s, String>> {
        let Self {
            server,
            scope,
            windows,
            holding,
            session,
            ..
        } = self;
        let buckets = server.target_of_any(scope.as_ref());
        let filter = windows.buckets(&T::SPEC, scope.as_ref());
        let mut filter = filter.map_err(|kind| buckets.error(kind))?;
        if !holding.filter.is_everything() {
            let holding = holding.buckets(&T::SPEC, scope.as_ref(), None);
            filter = doc! { "$and": [filter, holding] };
        }
        let buckets = buckets.find(filter, Range::oldest_first());
        let rows = buckets.cursor(session).await?;
        let lines = try_unfold((server, scope, rows), async |(server, scope, mut rows)| {
            let target = server.target_of_any(scope.as_ref());
            let Some(bucket) = rows.next_decoded::<RawDocumentBuf>().await? else {
                return Ok(None);
            };
            let line = json::write(&bucket);
            let line =
                line.map_err(|refusal| target.error(Kind::Serialize).with_source(refusal))?;
            Ok(Some((line, (server, scope, rows))))
        });
        Ok(ReadStream::new(lines))
    }
}

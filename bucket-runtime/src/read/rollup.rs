//! Adding up what buckets keep, on the server.

use std::{
    future::IntoFuture,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
};

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{DateTime, Document},
};

use crate::{
    Bucket, Error, Result, Windowed,
    error::Kind,
    protocol::{command::KeyScope, time_bounds::Span},
    schema::spec::BucketSpec,
    server::Server,
    value::{
        element::whole,
        rollup::{Rollup, Totals, totals},
    },
};

/// The adding up of rollups, which waits to be awaited; see
/// [`Buckets::rollup`](crate::Buckets::rollup).
#[must_use = "nothing is added up until this is awaited"]
pub struct RollUp<'s, T> {
    server: Server,
    scope: Option<KeyScope>,
    windows: Document,
    session: Option<&'s mut ClientSession>,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> RollUp<'static, T> {
    pub(crate) fn new(server: &Server, scope: Option<KeyScope>) -> Self {
        Self {
            server: server.clone(),
            scope,
            windows: Document::new(),
            session: None,
            item: PhantomData,
        }
    }
}

impl<T: Bucket> RollUp<'_, T> {
    /// Takes only the time windows that start in this range, such as `midnight..`. A struct without
    /// windows does not compile with it.
    ///
    /// Of a key this visits these windows alone; of all keys it does with an index of yours on the
    /// field `window`.
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

    /// Reads in this session.
    pub fn session<'r>(self, session: impl Into<&'r mut ClientSession>) -> RollUp<'r, T> {
        RollUp {
            server: self.server,
            scope: self.scope,
            windows: self.windows,
            session: Some(session.into()),
            item: PhantomData,
        }
    }
}

impl<'s, T: Bucket> IntoFuture for RollUp<'s, T> {
    type Output = Result<Rollup<T>>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self {
                server,
                scope,
                windows,
                session,
                ..
            } = self;
            let of_key = |error: Error| match &scope {
                Some(scope) => error.with_key(&scope.label()),
                None => error,
            };
            let filter = filter(&T::SPEC, scope.as_ref(), windows);
            let pipeline = totals::pipeline(&T::SPEC, filter);
            let found = server.aggregate::<Document>(pipeline, session).await;
            let found = found.map_err(|error| of_key(Error::read(error, server.name())))?;
            let found = found.into_iter().next().unwrap_or_default();
            let number = |name| found.get(name).and_then(whole).unwrap_or(0);
            let incomplete = number("incomplete");
            let items = u64::try_from(number("items")).unwrap_or(0);
            let stored = found.get_document("rollup").ok();
            let totals = match stored {
                Some(stored) => Totals::read(&T::SPEC, stored, items),
                None => Some(Totals::new(&T::SPEC)),
            };
            totals
                .filter(|_| incomplete == 0)
                .and_then(|totals| Rollup::read(items, totals))
                .ok_or_else(|| of_key(Error::new(Kind::IncompleteRollup, server.name())))
        })
    }
}

/// The buckets whose rollups are added up.
fn filter(spec: &BucketSpec, scope: Option<&KeyScope>, windows: Document) -> Document {
    let Some(name) = spec.window_name().filter(|_| !windows.is_empty()) else {
        return scope.map(KeyScope::all).unwrap_or_default();
    };
    let mut filter = scope
        .map(|scope| scope.within(Span::of_operators(&windows)))
        .unwrap_or_default();
    filter.insert(name, windows);
    filter
}

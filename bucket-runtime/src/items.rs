//! Streams over items: of a key or of all keys, all of them or those that a condition asks for.

use std::{
    future::IntoFuture,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::{
    future::BoxFuture,
    stream::{BoxStream, Stream, StreamExt, empty, try_unfold},
};
use mongodb::ClientSession;

use crate::{
    Bucket, BucketSpec, Error, Filter, Result,
    command::KeyScope,
    error::Kind,
    query::Query,
    read::Reader,
    rows::{RowError, Rows},
    seek::seek,
    server::Server,
    stored::Stored,
};

/// A read of the items of a key, or of all keys, which waits to be awaited. Its output is an
/// [`ItemStream`].
///
/// One round trip per batch. With a filter or a limit the server takes the buckets apart, and sends
/// the items that are asked for and no others; else it sends whole buckets.
///
/// ```no_run
/// # use bucket_runtime::{Bucket, bson::DateTime};
/// # #[derive(Bucket)]
/// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
/// # struct Trade { customer_id: i64, date: DateTime, ticker: String, quantity: i32 }
/// # async fn example(db: bucket_runtime::mongodb::Database, from: DateTime, to: DateTime) -> bucket_runtime::Result<()> {
/// use futures_util::TryStreamExt;
///
/// let trades = Trade::buckets(&db).await?;
/// let large = Trade::FIELDS.quantity.gte(100).and(Trade::FIELDS.date.between(from..to));
/// let mut newest = trades.items(&123).filter(large).newest_first().limit(20).await?;
/// while let Some(trade) = newest.try_next().await? {
///     println!("{} {}", trade.quantity, trade.ticker);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is read until this is awaited"]
pub struct Items<'s, T> {
    source: Source,
    query: Query,
    session: Option<&'s mut ClientSession>,
    item: PhantomData<fn() -> T>,
}

/// The buckets whose items are read.
enum Source {
    Key(Reader),
    All(Server),
}

impl<T: Bucket> Items<'static, T> {
    pub(crate) fn of_key(reader: Reader) -> Self {
        Self::new(Source::Key(reader))
    }

    pub(crate) fn of_all_keys(server: Server) -> Self {
        Self::new(Source::All(server))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            query: Query::everything(),
            session: None,
            item: PhantomData,
        }
    }
}

impl<T: Bucket> Items<'_, T> {
    /// The spec as a `static`, which promotion alone does not give in generic code.
    const SPEC: &'static BucketSpec = &T::SPEC;

    /// Gives only the items that match; called again, those that match both conditions.
    ///
    /// The server visits the buckets of the key, or, where conditions on key fields tell the first
    /// ones with `eq`, the buckets of these keys; with an index of your own on the key and a field
    /// of the items (`{ customerId: 1, "history.ticker": 1 }`) only those that hold a match. It
    /// takes apart only buckets that hold a match.
    ///
    /// With time windows (`{date/1h}`), a condition on their field bounds what is visited: of a key,
    /// only the buckets of those windows in which a matching item can lie, by their ids. With another
    /// time ordinal a bucket's id is the time of its first item, and the others may be earlier as
    /// well as later, so a range of times leaves out no bucket.
    pub fn filter(mut self, filter: Filter<T>) -> Self {
        self.query.filter = self.query.filter.and(filter.node);
        self
    }

    /// Gives the items in the reverse order: the last bucket first, and in it the last item.
    pub fn newest_first(mut self) -> Self {
        self.query.newest_first = true;
        self
    }

    /// Steps over the first items (of those that match).
    ///
    /// Without a filter the items of a key are not counted one by one: two more round trips find
    /// the bucket to begin with, by the number of full buckets before it and the counts of those
    /// that are not full, reading one key of the `_id` index per bucket that is skipped and, of the
    /// buckets before, only those that are not full; with time windows that may be one for each
    /// window of the key. It takes `capacity` for what a full bucket
    /// holds, which it is not in a collection whose capacity was lowered. If somebody appends
    /// between these round trips, a read from the newest may begin some items off.
    pub fn skip(mut self, items: u64) -> Self {
        self.query.skip = items;
        self
    }

    /// Ends after so many items.
    pub fn limit(mut self, items: u64) -> Self {
        self.query.limit = Some(items);
        self
    }

    /// Reads in this session, which the stream borrows.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> Items<'s, T> {
        Items {
            source: self.source,
            query: self.query,
            session: Some(session.into()),
            item: PhantomData,
        }
    }
}

impl<'s, T: Bucket> IntoFuture for Items<'s, T> {
    type Output = Result<ItemStream<'s, T>>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.source.read(Self::SPEC, self.query, self.session))
    }
}

impl Source {
    async fn read<'s, T: Bucket>(
        self,
        spec: &'static BucketSpec,
        query: Query,
        mut session: Option<&'s mut ClientSession>,
    ) -> Result<ItemStream<'s, T>> {
        if query.limit == Some(0) {
            return Ok(ItemStream::new(empty()));
        }
        let mut start = None;
        if let Some(scope) = self.scope()
            && query.skips_whole_buckets(spec)
        {
            let found = seek(self.server(), scope, &query, session.as_deref_mut()).await;
            start = found.map_err(|error| self.failed(error))?;
            if start.is_none() {
                return Ok(ItemStream::new(empty()));
            }
        }
        let skip = start.as_ref().map_or(query.skip, |start| start.skip);
        let whole = query.takes_whole_buckets(spec, skip);
        let rows = match whole {
            true => {
                let filter = query.buckets(spec, self.scope(), start.as_ref());
                self.server().find(filter, query.order(), session).await
            }
            false => {
                let pipeline = query.pipeline(spec, self.scope(), start.as_ref());
                self.server().stream(pipeline, None, session).await
            }
        };
        let rows = rows.map_err(|error| self.failed(error))?;
        let rest = match whole {
            true => Rest {
                reversed: query.newest_first,
                skip: usize::try_from(skip).unwrap_or(usize::MAX),
            },
            false => Rest::default(),
        };
        let items = try_unfold((self, rows, rest), async |(source, mut rows, mut rest)| {
            let items = source.next(&mut rows).await?;
            Ok(items.map(|items| (rest.of(items), (source, rows, rest))))
        });
        Ok(ItemStream::new(items))
    }

    /// The items of the next row.
    async fn next<T: Bucket>(&self, rows: &mut Rows<'_, Stored<T>>) -> Result<Option<Vec<T>>> {
        match self {
            Self::Key(reader) => Ok(reader.next(rows).await?.map(|page| page.items)),
            Self::All(server) => match rows.next().await {
                Ok(bucket) => Ok(bucket.map(Stored::into_items)),
                Err(RowError::Driver(error)) => Err(self.failed(error)),
                Err(RowError::Decode(id, error)) => {
                    Err(Error::new(Kind::Deserialize(id), server.name()).with_driver(error))
                }
            },
        }
    }

    fn server(&self) -> &Server {
        match self {
            Self::Key(reader) => &reader.server,
            Self::All(server) => server,
        }
    }

    fn scope(&self) -> Option<&KeyScope> {
        match self {
            Self::Key(reader) => Some(&reader.scope),
            Self::All(_) => None,
        }
    }

    fn failed(&self, error: mongodb::error::Error) -> Error {
        match self {
            Self::Key(reader) => reader.failed(error),
            Self::All(server) => Error::read(error, server.name()),
        }
    }
}

/// What is left to do with the items of whole buckets.
#[derive(Default)]
struct Rest {
    reversed: bool,
    skip: usize,
}

impl Rest {
    fn of<T>(&mut self, mut items: Vec<T>) -> std::vec::IntoIter<T> {
        if self.reversed {
            items.reverse();
        }
        let skipped = self.skip.min(items.len());
        self.skip -= skipped;
        let mut items = items.into_iter();
        items.by_ref().take(skipped).for_each(drop);
        items
    }
}

/// Items, in the order of their buckets' ids, and within a bucket in the order in which they were
/// appended; or all in reverse.
///
/// It holds one batch of the driver's and one bucket at a time. Dropping it closes the server's
/// cursor.
pub struct ItemStream<'s, T> {
    buckets: BoxStream<'s, Result<std::vec::IntoIter<T>>>,
    items: std::vec::IntoIter<T>,
}

impl<'s, T> ItemStream<'s, T> {
    fn new(buckets: impl Stream<Item = Result<std::vec::IntoIter<T>>> + Send + 's) -> Self {
        Self {
            buckets: buckets.boxed(),
            items: Vec::new().into_iter(),
        }
    }
}

// Items are moved out of their bucket; nothing is ever pinned in place.
impl<T> Unpin for ItemStream<'_, T> {}

impl<T> Stream for ItemStream<'_, T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.items.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(self.buckets.poll_next_unpin(cx)) {
                Some(Ok(items)) => self.items = items,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

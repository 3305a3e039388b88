//! Streams of the items of one key or of all keys, with or without a condition.

mod parts;
mod stream;

use std::marker::PhantomData;

use futures_util::stream::{empty, try_unfold};
use mongodb::ClientSession;

use self::parts::{Element, Whole};
pub use self::{parts::Parts, stream::ItemStream};
use crate::{
    Bucket, BucketPart, Buckets, Error, KeyRef, Result,
    error::Kind,
    protocol::{
        command::KeyScope,
        filter::Filter,
        query::{Query, Start},
    },
    read::{
        offset::seek,
        reader::{Reader, next_bucket},
        settings::read_settings,
    },
    schema::spec::BucketSpec,
    server::{
        Server,
        context::ErrorContext,
        current_index::{CurrentIndex, IndexDeadline},
        cursor::DocumentCursor,
    },
    value::{stored_bucket::StoredBucket, unreadable::Tell},
};

impl<T: Bucket> Buckets<T> {
    /// Streams all items of a key across its buckets, in bounded memory. [`Items`] has methods for a
    /// filter, the reverse order, and a limit.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut history = trades.items(alice).await?;
    /// while let Some(trade) = history.try_next().await? {
    ///     // …
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn items(&self, key: KeyRef<'_, T>) -> Items<'static, T> {
        Items::of_key(self.reader(key), self.engine().index)
    }

    /// Streams the items of all keys, or those that match a filter, in the order of their buckets' ids:
    /// key by key, in the order of the keys' text. Otherwise like [`items`](Self::items).
    ///
    /// If the filter fixes the first key fields with `eq`, the server visits only the ids of those keys;
    /// otherwise it visits all buckets, unless one of your indexes serves the filter. With time windows,
    /// a filter on the time selects the buckets of its windows, so an index on the field `window` serves
    /// it.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, ticker: String }
    /// # async fn example(trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let mongo = trades.all_items().filter(Trade::FIELDS.ticker.eq("MDB")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn all_items(&self) -> Items<'static, T> {
        Items::of_all_keys(self.writer.engine.server.clone())
    }
}

/// Builder of a read of the items of one key or of all keys: await it. The output is an [`ItemStream`].
///
/// One round trip per batch. With a filter or a limit the server unwinds the buckets and sends only the
/// matching items; otherwise it sends whole buckets.
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
    tell: Option<Tell<'s>>,
    item: PhantomData<fn() -> T>,
}

/// The buckets whose items are read.
enum Source {
    /// The buckets of one key, with the current open index.
    Key(Reader, CurrentIndex),
    All(Server),
}

impl<'s, T: Bucket> Items<'s, T> {
    pub(crate) fn of_key(reader: Reader, index: CurrentIndex) -> Self {
        Self::new(Source::Key(reader, index))
    }

    pub(crate) fn of_all_keys(server: Server) -> Self {
        Self::new(Source::All(server))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            query: Query::everything(),
            session: None,
            tell: None,
            item: PhantomData,
        }
    }

    /// The spec as a `static`: in generic code, promotion alone does not provide one.
    const SPEC: &'static BucketSpec = &T::SPEC;

    /// Returns only the items that match; called again, those that match both conditions.
    ///
    /// The server visits the buckets of the key. If conditions fix the first key fields with `eq`, it
    /// visits the buckets of those keys; with an index of your own on the key and a field of the items
    /// (`{ customerId: 1, "history.ticker": 1 }`) it visits only the buckets that hold a match. It
    /// unwinds only buckets that hold a match.
    ///
    /// With time windows (`{date/1h}`), a condition on the time limits what is visited: for a key, only
    /// the buckets of windows that can hold a matching item, by their ids. With another time ordinal a
    /// bucket's id is the time of its first item, and the others may be earlier or later, so a range of
    /// times excludes no bucket.
    pub fn filter(mut self, filter: Filter<T>) -> Self {
        self.query.filter = self.query.filter.and(filter.node);
        self
    }

    /// Returns the items in reverse order: the last bucket first, and its last item first.
    pub fn newest_first(mut self) -> Self {
        self.query.newest_first = true;
        self
    }

    /// Skips the first items (of those that match).
    ///
    /// Without a filter, the server does not count the items of a key one by one. Two more round trips
    /// find the first bucket by the number of full buckets before it and the counts of those that are
    /// not full. They read one key of the `_id` index for each skipped bucket, and fetch only buckets
    /// that are not full; with time windows that may be one for each window of the key. The search
    /// assumes that a full bucket holds `capacity` items, which is not so in a collection whose capacity
    /// was lowered. If another program appends between these round trips, a read from the newest may
    /// start a few items off.
    pub fn skip(mut self, items: u64) -> Self {
        self.query.skip = items;
        self
    }

    /// Ends after this many items.
    pub fn limit(mut self, items: u64) -> Self {
        self.query.limit = Some(items);
        self
    }

    read_settings!(|reads| reads.source.server_mut());

    /// Reads in this session, which the stream borrows.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Skips the items that the struct cannot read, and calls the closure for each: other programs may
    /// have written them, or an earlier version of the struct. Without it, the first such item ends the
    /// stream with an error. They count for [`skip`](Self::skip) and [`limit`](Self::limit).
    ///
    /// The stream borrows the closure's borrows. [`verify`](crate::Bucket::verify) lists these items by
    /// bucket and index, and [`remove_item(…).as_stored()`](crate::action::RemoveItem::as_stored)
    /// removes one.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut unreadable = Vec::new();
    /// let readable = trades.items(alice).skip_unreadable(|error| unreadable.push(error)).await?;
    /// let readable: Vec<Trade> = readable.try_collect().await?;
    /// println!("{} trades, and {} that cannot be read", readable.len(), unreadable.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn skip_unreadable(mut self, tell: impl FnMut(Error) + Send + 's) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }

    /// Has the server send only some fields of the items: those of a struct that derives
    /// [`BucketPart`]. Call it last.
    ///
    /// The network carries less, and the client decodes less; the server reads the whole buckets all the
    /// same. The stored names of the part's fields decide, so an element that lacks one is unreadable
    /// unless the field is an `Option` or has a default.
    pub fn parts<P: BucketPart<Of = T>>(self) -> Parts<'s, P> {
        Parts::new(self)
    }

    pub(crate) async fn execute(self) -> Result<ItemStream<'s, T>> {
        self.read::<Whole<T>>().await
    }

    async fn read<E: Element<Of = T>>(mut self) -> Result<ItemStream<'s, E::Item>> {
        self.query.names = E::NAMES;
        let Self {
            source,
            query,
            session,
            tell,
            ..
        } = self;
        source.read::<E>(Self::SPEC, query, session, tell).await
    }
}

impl Source {
    async fn read<'s, E: Element>(
        mut self,
        spec: &'static BucketSpec,
        query: Query,
        mut session: Option<&'s mut ClientSession>,
        tell: Option<Tell<'s>>,
    ) -> Result<ItemStream<'s, E::Item>> {
        if query.limit == Some(0) {
            return Ok(ItemStream::new(empty()));
        }
        let mut start = None;
        if let Self::Key(reader, index) = &mut self
            && query.skips_whole_buckets(spec)
        {
            start = seek_by(reader, index, &query, session.as_deref_mut()).await?;
            if start.is_none() {
                return Ok(ItemStream::new(empty()));
            }
        }
        let skip = start.as_ref().map_or(query.skip, |start| start.skip);
        // After unreadable items are left out, the first items could no longer be counted.
        let counts_here = skip > 0 && tell.is_some();
        let whole = query.takes_whole_buckets(spec, skip) && !counts_here;
        let rows = match whole {
            true => {
                let filter = query.buckets(spec, self.scope(), start.as_ref());
                (self.server().find(filter, query.range(spec), session)).await
            }
            false => {
                let pipeline = query.pipeline(spec, self.scope(), start.as_ref());
                self.server().stream(pipeline, None, session).await
            }
        };
        let rows = rows.map_err(|error| self.context().read(error))?;
        let rest = match whole {
            true => Rest {
                reversed: query.newest_first,
                skip: usize::try_from(skip).unwrap_or(usize::MAX),
            },
            false => Rest::default(),
        };
        let state = (self, rows, rest, tell);
        let items = try_unfold(state, async |(source, mut rows, mut rest, mut tell)| {
            let items = source.next::<E>(&mut rows, tell.as_mut()).await?;
            Ok(items.map(|items| (rest.of(items), (source, rows, rest, tell))))
        });
        Ok(ItemStream::new(items))
    }

    /// The items of the next row.
    async fn next<E: Element>(
        &self,
        rows: &mut DocumentCursor<'_, StoredBucket<E::Of, E::Stored>>,
        tell: Option<&mut Tell<'_>>,
    ) -> Result<Option<Vec<E::Item>>> {
        let Some(bucket) = next_bucket(self.context(), rows, tell).await? else {
            return Ok(None);
        };
        if self.scope().is_some_and(|scope| !scope.holds(&bucket)) {
            return Err(self.context().kind(Kind::ForeignId(bucket.id)));
        }
        let StoredBucket { key, elements, .. } = bucket;
        let items = elements.into_iter();
        Ok(Some(items.map(|stored| E::item(&key, stored)).collect()))
    }

    fn server(&self) -> &Server {
        match self {
            Self::Key(reader, _) => &reader.server,
            Self::All(server) => server,
        }
    }

    fn server_mut(&mut self) -> &mut Server {
        match self {
            Self::Key(reader, _) => &mut reader.server,
            Self::All(server) => server,
        }
    }

    fn scope(&self) -> Option<&KeyScope> {
        match self {
            Self::Key(reader, _) => Some(&reader.scope),
            Self::All(_) => None,
        }
    }

    fn context(&self) -> ErrorContext<'_> {
        self.server().context_of_any(self.scope())
    }
}

/// Finds where the items of a query start, with the collection's current open index.
async fn seek_by(
    reader: &mut Reader,
    index: &CurrentIndex,
    query: &Query,
    mut session: Option<&mut ClientSession>,
) -> Result<Option<Start>> {
    let mut deadline = IndexDeadline::default();
    loop {
        // Another handle may have changed the capacity since this read was created.
        reader.scope.open = index.get();
        let found = seek(&reader.server, &reader.scope, query, session.as_deref_mut()).await;
        match found.map_err(|error| reader.context().read(error)) {
            Err(error) if error.is(&Kind::MissingIndex) => {
                let spec = reader.scope.spec;
                let is_in_session = session.is_some();
                index
                    .wait_unless_in_session(spec, &mut deadline, error, is_in_session)
                    .await?;
            }
            found => return found,
        }
    }
}

/// The skip and the limit that remain to be applied to the items of whole buckets.
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

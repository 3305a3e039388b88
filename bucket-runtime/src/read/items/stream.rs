//! The items of a read, one by one, each as a whole item or as a part of it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    vec::IntoIter,
};

use bucket_core::protocol::query::QueryStart;
use futures_util::stream::{BoxStream, Stream, StreamExt, empty, try_unfold};

use super::{
    Items,
    list::ItemList,
    place::{ReadPlace, RowSource, resume},
    rows::{ItemRow, RowBucket, RowReader},
    token::ItemToken,
};
use crate::{
    Bucket, Part, Result,
    read::{
        part::{PartOf, Whole},
        stored_bucket::OfElement,
    },
};

/// The form in which a read gives each element: as a whole item or a part.
pub trait ItemForm: 'static {
    /// The struct of the items.
    type Of: Bucket;

    /// The type that a stored element is read into.
    type Stored: OfElement<Self::Of> + Send + 'static;

    /// The item that the read gives.
    type Item: Send + 'static;

    /// The stored names of the fields to read, if not all.
    fn names() -> Option<Vec<&'static str>>;

    /// Adds the key, where it is not there yet.
    fn item(key: &<Self::Of as Bucket>::Key, stored: Self::Stored) -> Self::Item;
}

impl<T: Bucket> ItemForm for Whole<T> {
    type Of = T;
    type Stored = T::Element;
    type Item = T;

    fn names() -> Option<Vec<&'static str>> {
        None
    }

    fn item(key: &T::Key, stored: T::Element) -> T {
        T::from_parts(key.clone(), stored)
    }
}

impl<P: Part<Of: Bucket>> ItemForm for PartOf<P> {
    type Of = P::Of;
    type Stored = Self;
    type Item = P;

    fn names() -> Option<Vec<&'static str>> {
        Some(P::NAMES.concat())
    }

    fn item(_: &<P::Of as Bucket>::Key, stored: Self) -> P {
        stored.0
    }
}

/// Items, in the order of their buckets' ids, and within a bucket in the order in which they were
/// appended; or all of them in reverse.
///
/// It holds one batch of the driver and one bucket at a time. Dropping it closes the server's
/// cursor.
pub struct ItemStream<'s, T> {
    list: Arc<ItemList>,
    rows: BoxStream<'s, Result<ItemRow<T>>>,
    /// The items of the last row that are still to be given, with their numbers.
    pub(super) items: IntoIter<(u64, T)>,
    /// The last row, if rows are whole buckets.
    last: Option<RowBucket>,
    place: ReadPlace,
}

impl<'s, T: Bucket, F: ItemForm<Of = T>> Items<'s, T, F> {
    pub(crate) async fn execute(mut self) -> Result<ItemStream<'s, F::Item>> {
        self.read.apply_to(&mut self.list.target.server);
        self.list.query.names = F::names();
        let token = self.after.as_ref();
        let start = token.map(|token| self.list.position_of(token));
        let start = start.transpose()?;
        let list = Arc::new(self.list);
        let mut stream = ItemStream {
            list: Arc::clone(&list),
            rows: empty().boxed(),
            items: Vec::new().into_iter(),
            last: None,
            place: ReadPlace::new(start.clone(), None),
        };
        let (spec, scope, query) = (list.spec, list.target.scope.as_ref(), &list.query);
        if query.limit == Some(0) {
            return Ok(stream);
        }
        let skip = start.as_ref().map_or(0, |_| query.skip);
        let mut cut = None;
        let cursor = match start {
            start if query.takes_whole_buckets() => {
                let first = start.as_ref().map(|start| start.bucket.clone());
                let first = first.map(QueryStart::of_bucket);
                let buckets = query.buckets(spec, scope, first.as_ref());
                let buckets = list.target.borrow().find(buckets, query.bucket_range(spec));
                cut = start;
                buckets.cursor(self.read.session).await?
            }
            Some(position) => {
                let (cursor, neighbour) =
                    resume(&*list, position.clone(), self.read.session).await?;
                stream.place = ReadPlace::new(Some(position), neighbour);
                cursor
            }
            None => list.rows(query, None, self.read.session).await?,
        };
        let reader = RowReader {
            cursor,
            on_unreadable: self.read.more.0,
            cut,
            skip,
            list,
        };
        let rows = try_unfold(reader, async |mut reader| {
            let row = reader.next::<F>().await?;
            Ok(row.map(|row| (row, reader)))
        });
        stream.rows = rows.boxed();
        Ok(stream)
    }
}

impl<T> ItemStream<'_, T> {
    /// The position after the last item that was given, for [`after`](crate::action::Items::after);
    /// before the first one, the token that the read started with.
    ///
    /// It needs no round trip, and hashes up to eight items.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, ItemToken, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut history = trades.items(alice).await?;
    /// history.try_next().await?;
    /// let token = history.token();
    ///
    /// // Later, perhaps in another process: the second item and all others.
    /// if let Some(token) = token {
    ///     let rest = trades.items(alice).after(&token).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn token(&self) -> Option<ItemToken> {
        match &self.last {
            None => self.place.token(&self.list),
            Some(bucket) => {
                let next = self.items.as_slice().first().map(|(number, _)| *number);
                let position = bucket.position(&self.list, next)?;
                let started = self.place.started.as_ref();
                self.list.token(position.with_farther_of(started))
            }
        }
    }

    /// The next row, for a reader that decides whether to take it.
    pub(super) async fn next_row(&mut self) -> Result<Option<ItemRow<T>>> {
        self.rows.next().await.transpose()
    }

    /// Takes the items of a row.
    pub(super) fn take_row(&mut self, row: ItemRow<T>) {
        let ItemRow { items, bucket } = row;
        self.items = items;
        if !self.list.query.takes_whole_buckets() {
            self.place.note_given(bucket.bytes);
        // Behind an empty bucket, a token would miss late items of those before it.
        } else if bucket.length > 0 {
            self.last = Some(bucket);
        }
    }
}

// Items are moved out of their bucket; nothing is ever pinned in place.
impl<T> Unpin for ItemStream<'_, T> {}

impl<T> Stream for ItemStream<'_, T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some((_, item)) = self.items.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(self.rows.poll_next_unpin(cx)).transpose() {
                Ok(Some(row)) => self.take_row(row),
                Ok(None) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

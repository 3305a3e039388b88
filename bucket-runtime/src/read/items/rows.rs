//! A read of single items, with a filter or a limit: rows that the server unwinds, or the client where it can
//! (`protocol/query/whole.rs`).

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::stream::{BoxStream, StreamExt, try_unfold};
use mongodb::{
    ClientSession,
    bson::{RawDocument, RawDocumentBuf},
};

use super::{
    list::{ItemList, ReadStart},
    stream::{BucketCursor, ItemForm},
    token::ItemToken,
};
use crate::{
    Result,
    protocol::query::{ItemPosition, MAX_NEIGHBOURS, NeighbourSide, QueryStart},
    value::unreadable::OnUnreadable,
};

/// The maximum number of times that a read looks for its position again when others change that bucket
/// meanwhile. After that it takes the place that it found last.
const MAX_SEARCHES: u32 = 10;

/// The rows of a read, each of them a bucket with one item.
pub(super) struct ItemRows<'s, T> {
    list: Arc<ItemList>,
    /// The position where the read started, if it went on from a token.
    started: Option<ItemPosition>,
    rows: BoxStream<'s, Result<ItemRow<T>>>,
    /// The rows that were given last, from which a token is made.
    given: VecDeque<RawDocumentBuf>,
}

/// A row, with its item unless that is skipped or cannot be read.
pub(super) struct ItemRow<T> {
    pub(super) item: Option<T>,
    pub(super) bytes: RawDocumentBuf,
}

impl<'s, T: Send + 'static> ItemRows<'s, T> {
    pub(super) async fn open<E: ItemForm<Item = T>>(
        list: Arc<ItemList>,
        start: ReadStart,
        session: Option<&'s mut ClientSession>,
        on_unreadable: Option<OnUnreadable<'s>>,
    ) -> Result<Self> {
        let (cursor, neighbour) = match &start.position {
            Some(position) => resume::<E>(&list, position.clone(), session).await?,
            None => {
                let rows = list.rows(&list.query, start.bucket.as_ref(), session);
                (rows.await?, None)
            }
        };
        let reader: ItemReader<'s, E> = ItemReader {
            cursor,
            on_unreadable,
            skip: start.position.as_ref().map_or(0, |_| list.query.skip),
        };
        let rows = try_unfold(reader, async |mut reader| {
            let row = reader.next().await?;
            Ok(row.map(|row| (row, reader)))
        });
        Ok(Self {
            list,
            started: start.position,
            rows: rows.boxed(),
            given: neighbour.into_iter().collect(),
        })
    }
}

impl<T> ItemRows<'_, T> {
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            match ready!(self.rows.poll_next_unpin(cx)).transpose() {
                Ok(Some(ItemRow { item, bytes })) => {
                    self.note_given(bytes);
                    if let Some(item) = item {
                        return Poll::Ready(Some(Ok(item)));
                    }
                }
                Ok(None) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }

    /// The next row, for a reader that decides whether to give it.
    pub(super) async fn next_row(&mut self) -> Result<Option<ItemRow<T>>> {
        self.rows.next().await.transpose()
    }

    /// Notes that this row was given.
    pub(super) fn note_given(&mut self, row: RawDocumentBuf) {
        if self.given.len() == MAX_NEIGHBOURS {
            self.given.pop_front();
        }
        self.given.push_back(row);
    }

    /// The token of the position after the last given item.
    pub(super) fn token(&self) -> Option<ItemToken> {
        let position = match self.given.is_empty() {
            true => self.started.clone()?,
            false => self.position()?,
        };
        self.list.token(position)
    }

    /// The position after the last given item.
    fn position(&self) -> Option<ItemPosition> {
        let mut rows = self.given.iter().rev();
        let last = rows.next()?;
        let bucket = last.get_str("_id").ok()?;
        let newest_first = self.list.query.newest_first;
        let (number, nearest) = self.list.numbered_element(last)?;
        let of_bucket = rows.take_while(|row| is_of(row, bucket));
        let farther = of_bucket.filter_map(|row| Some(self.list.numbered_element(row)?.1));
        let position = ItemPosition {
            bucket: bucket.to_owned(),
            before: number.checked_add(u32::from(!newest_first))?,
            side: NeighbourSide::of_given(newest_first),
            neighbours: std::iter::once(nearest).chain(farther).collect(),
        };
        Some(position.with_farther_of(self.started.as_ref()))
    }
}

/// Reads the rows, and leaves out the skipped items.
struct ItemReader<'s, E: ItemForm> {
    cursor: BucketCursor<'s, E>,
    on_unreadable: Option<OnUnreadable<'s>>,
    /// The number of rows that are still to be skipped.
    skip: u64,
}

impl<E: ItemForm> ItemReader<'_, E> {
    async fn next(&mut self) -> Result<Option<ItemRow<E::Item>>> {
        let on_unreadable = self.on_unreadable.as_mut();
        let next = (self.cursor).next_bucket_and(on_unreadable, RawDocument::to_owned);
        let Some((bucket, bytes)) = next.await? else {
            return Ok(None);
        };
        let bucket = self.cursor.target().expect_key(bucket)?;
        let mut elements = bucket.elements;
        if self.skip > 0 {
            self.skip -= 1;
            elements.clear();
        }
        let item = elements.pop().map(|stored| E::item(&bucket.key, stored));
        Ok(Some(ItemRow { item, bytes }))
    }
}

/// The rows from a position on, and the row of the item next to it, if the read before gave that item.
///
/// The first command assumes that no item before the position was removed, and asks for the item next to it
/// as well. If another item is there now, the position is searched in its bucket.
async fn resume<'s, E: ItemForm>(
    list: &ItemList,
    mut position: ItemPosition,
    mut session: Option<&'s mut ClientSession>,
) -> Result<(BucketCursor<'s, E>, Option<RawDocumentBuf>)> {
    let query = &list.query;
    let mut searches = 0;
    loop {
        let start = position.start(query.newest_first);
        let query = query.resumed_at(&position);
        let mut rows: BucketCursor<'s, E> = list.rows(&query, Some(&start), session).await?;
        let Some(neighbour) = position.neighbour() else {
            return Ok((rows, None));
        };
        let first = rows.peek().await?;
        let is_beside = first.is_some_and(|row| {
            is_of(row, &position.bucket) && list.numbered_element(row) == Some(neighbour)
        });
        if is_beside {
            let is_given = position.is_given(query.newest_first);
            let neighbour = is_given.then(|| rows.take_peeked()).flatten();
            return Ok((rows, neighbour));
        }
        session = rows.into_session();
        let elements = elements_of_bucket(list, &position.bucket, session.as_deref_mut());
        position = position.find_among(&elements.await?, query.newest_first);
        searches += 1;
        if searches == MAX_SEARCHES {
            position.neighbours.clear();
        }
    }
}

/// The items of a bucket that the query would give.
async fn elements_of_bucket(
    list: &ItemList,
    bucket: &str,
    session: Option<&mut ClientSession>,
) -> Result<Vec<(u32, u32)>> {
    let start = QueryStart {
        buckets: Some(1),
        ..QueryStart::of_bucket(bucket.to_owned())
    };
    let query = list.query.of_all_matches();
    let rows = list.rows(&query, Some(&start), session).await?;
    let rows: Vec<RawDocumentBuf> = rows.rest().await?;
    // The rows of another bucket, which come first if the bucket is gone, do not count.
    let rows = rows.iter().filter(|row| is_of(row, bucket));
    Ok(rows.filter_map(|row| list.numbered_element(row)).collect())
}

/// Whether a row is an item of the bucket with this id.
fn is_of(row: &RawDocument, bucket: &str) -> bool {
    row.get_str("_id").ok() == Some(bucket)
}

//! A read of whole buckets, of which the client cuts the first at a token: cheaper than single
//! items if all are wanted.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
    vec::IntoIter,
};

use bucket_core::{
    protocol::query::{ItemPosition, NeighbourSide},
    server::read::cursor::DocumentCursor,
    value::unreadable::OnUnreadable,
};
use futures_util::stream::{BoxStream, StreamExt, empty, try_unfold};
use mongodb::{ClientSession, bson::RawDocumentBuf};

use super::{
    list::{ItemList, ReadStart},
    stream::ItemForm,
    token::ItemToken,
};
use crate::{
    Result,
    read::stored_bucket::{StoredBucket, next_bucket},
};

/// The buckets of a read, each with its items.
pub(super) struct BucketRows<'s, T> {
    list: Arc<ItemList>,
    /// The position where the read started, if it went on from a token.
    started: Option<ItemPosition>,
    rows: BoxStream<'s, Result<BucketRow<T>>>,
    /// The bucket whose items are being given, or were given last.
    last: Option<BucketRow<T>>,
}

/// A bucket, and those of its items that are still to be given.
struct BucketRow<T> {
    items: IntoIter<T>,
    bytes: RawDocumentBuf,
    /// The number of elements that could be read.
    readable: usize,
    /// The elements that could not be read: the number of elements before each.
    left_out: Vec<u64>,
}

impl<'s, T: Send + 'static> BucketRows<'s, T> {
    pub(super) async fn open<E: ItemForm<Item = T>>(
        list: Arc<ItemList>,
        start: ReadStart,
        session: Option<&'s mut ClientSession>,
        on_unreadable: Option<OnUnreadable<'s>>,
    ) -> Result<Self> {
        let (spec, scope, query) = (list.spec, list.target.scope.as_ref(), &list.query);
        let buckets = query.buckets(spec, scope, start.bucket.as_ref());
        let buckets = list.target.borrow().find(buckets, query.bucket_range(spec));
        let reader = BucketReader {
            cursor: buckets.cursor(session).await?,
            on_unreadable,
            cut: start.position.clone(),
            list: Arc::clone(&list),
        };
        let rows = try_unfold(reader, async |mut reader| {
            let row = reader.next::<E>().await?;
            Ok(row.map(|row| (row, reader)))
        });
        let none = Self::none(list, start.position);
        Ok(Self {
            rows: rows.boxed(),
            ..none
        })
    }

    /// A read that gives no items.
    pub(super) fn none(list: Arc<ItemList>, started: Option<ItemPosition>) -> Self {
        Self {
            list,
            started,
            rows: empty().boxed(),
            last: None,
        }
    }
}

impl<T> BucketRows<'_, T> {
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            let items = self.last.as_mut().map(|row| &mut row.items);
            if let Some(item) = items.and_then(Iterator::next) {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(self.rows.poll_next_unpin(cx)).transpose() {
                // Behind an empty bucket, a token would miss late items of those before it.
                Ok(Some(row)) if row.readable == 0 && row.left_out.is_empty() => {}
                Ok(Some(row)) => {
                    self.last = Some(row);
                }
                Ok(None) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }

    /// The token of the position after the last given item.
    pub(super) fn token(&self) -> Option<ItemToken> {
        let position = match &self.last {
            None => self.started.clone()?,
            Some(row) => {
                let newest_first = self.list.query.newest_first;
                let before = row.before_position(newest_first);
                let position = ItemPosition {
                    bucket: row.bytes.get_str("_id").ok()?.to_owned(),
                    before: u32::try_from(before).ok()?,
                    side: NeighbourSide::of_given(newest_first),
                    neighbours: self.list.neighbours(&row.bytes, before),
                };
                position.with_farther_of(self.started.as_ref())
            }
        };
        self.list.token(position)
    }
}

impl<T> BucketRow<T> {
    /// The number of elements before the position after the last given item.
    fn before_position(&self, newest_first: bool) -> usize {
        match (newest_first, self.items.len()) {
            (false, 0) => self.readable + self.left_out.len(),
            (false, left) => self.before_readable(self.readable.saturating_sub(left)),
            (true, 0) => 0,
            (true, left) => self.before_readable(left - 1) + 1,
        }
    }

    /// The number of elements before a readable one, given as the number of readable ones before
    /// it.
    fn before_readable(&self, readable: usize) -> usize {
        let mut before = readable;
        for left_out in &self.left_out {
            before += usize::from(*left_out <= before as u64);
        }
        before
    }

    /// The number of readable elements before the element with this number.
    fn readable_before(&self, element: u32) -> usize {
        let element = u64::from(element);
        let left_out = (self.left_out.iter()).filter(|left_out| **left_out < element);
        let readable = element.saturating_sub(left_out.count() as u64);
        usize::try_from(readable).map_or(self.readable, |readable| readable.min(self.readable))
    }
}

/// Reads the buckets, and leaves out items that the read does not give.
struct BucketReader<'s> {
    cursor: DocumentCursor<'s>,
    on_unreadable: Option<OnUnreadable<'s>>,
    list: Arc<ItemList>,
    /// The position at which the first bucket is cut, if the read goes on from a token.
    cut: Option<ItemPosition>,
}

impl BucketReader<'_> {
    async fn next<E: ItemForm>(&mut self) -> Result<Option<BucketRow<E::Item>>> {
        let on_unreadable = self.on_unreadable.as_mut();
        let next = next_bucket::<E::Of, E::Stored>(&mut self.cursor, on_unreadable);
        let Some((bucket, row)) = next.await? else {
            return Ok(None);
        };
        let bytes = row.to_owned();
        let bucket = bucket.expect_key(self.cursor.target())?;
        let StoredBucket {
            key,
            elements,
            left_out,
            ..
        } = bucket;
        let readable = elements.len();
        let items = elements.into_iter().map(|stored| E::item(&key, stored));
        let mut items = Vec::from_iter(items);
        if self.list.query.newest_first {
            items.reverse();
        }
        let mut row = BucketRow {
            items: items.into_iter(),
            bytes,
            readable,
            left_out,
        };
        let cut = self.cut.take();
        let before_cut = cut.map_or(0, |cut| self.before_cut(&cut, &row));
        row.items.by_ref().take(before_cut).for_each(drop);
        Ok(Some(row))
    }

    /// The number of the first bucket's readable items before the cut; 0 if the cut is in another
    /// bucket.
    fn before_cut<T>(&self, cut: &ItemPosition, row: &BucketRow<T>) -> usize {
        if row.bytes.get_str("_id").ok() != Some(&cut.bucket) {
            return 0;
        }
        let newest_first = self.list.query.newest_first;
        let elements = self.list.numbered_elements(&row.bytes);
        let before = row.readable_before(cut.find_among(&elements, newest_first).before);
        match newest_first {
            true => row.readable - before,
            false => before,
        }
    }
}

//! The rows of a read: whole buckets, of which the client cuts the first at a token, since they are
//! cheaper than single items if all are wanted; or, with a filter or a limit, single items, each as
//! a bucket of one, which the server unwinds, or the client where it can
//! (`protocol/query/whole.rs`).

use std::{sync::Arc, vec::IntoIter};

use bucket_core::{
    protocol::query::{ItemPosition, NeighbourSide},
    server::read::cursor::DocumentCursor,
    value::unreadable::OnUnreadable,
};
use mongodb::bson::RawDocumentBuf;

use super::{list::ItemList, stream::ItemForm};
use crate::{
    Result,
    read::stored_bucket::{StoredBucket, next_bucket},
};

/// A row, and those of its items that are to be given.
pub(super) struct ItemRow<T> {
    pub(super) items: IntoIter<T>,
    pub(super) bucket: RowBucket,
}

/// The bucket of a row.
pub(super) struct RowBucket {
    pub(super) bytes: RawDocumentBuf,
    /// The number of elements that could be read.
    readable: usize,
    /// The elements that could not be read: the number of elements before each.
    left_out: Vec<u64>,
}

impl RowBucket {
    pub(super) fn is_empty(&self) -> bool {
        self.readable == 0 && self.left_out.is_empty()
    }

    /// The position after the last given item, if this many of the readable ones are still to be
    /// given.
    pub(super) fn position(&self, list: &ItemList, left: usize) -> Option<ItemPosition> {
        let newest_first = list.query.newest_first;
        let before = match (newest_first, left) {
            (false, 0) => self.readable + self.left_out.len(),
            (false, left) => self.before_readable(self.readable.saturating_sub(left)),
            (true, 0) => 0,
            (true, left) => self.before_readable(left - 1) + 1,
        };
        Some(ItemPosition {
            bucket: self.bytes.get_str("_id").ok()?.to_owned(),
            before: u32::try_from(before).ok()?,
            side: NeighbourSide::of_given(newest_first),
            neighbours: list.neighbours(&self.bytes, before),
        })
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

    /// The number of readable items before the cut, in the order of the read; 0 if the cut is in
    /// another bucket.
    fn before_cut(&self, list: &ItemList, cut: &ItemPosition) -> usize {
        if self.bytes.get_str("_id").ok() != Some(&cut.bucket) {
            return 0;
        }
        let newest_first = list.query.newest_first;
        let elements = list.fingerprints(&self.bytes, 0..usize::MAX);
        let elements = Vec::from_iter((0..).zip(elements));
        let before = self.readable_before(cut.find_among(&elements, newest_first).before);
        match newest_first {
            true => self.readable - before,
            false => before,
        }
    }

    /// The number of readable elements before the element with this number.
    fn readable_before(&self, element: u32) -> usize {
        let element = u64::from(element);
        let left_out = (self.left_out.iter()).filter(|left_out| **left_out < element);
        let readable = element.saturating_sub(left_out.count() as u64);
        usize::try_from(readable).map_or(self.readable, |readable| readable.min(self.readable))
    }
}

/// Reads the rows, and leaves out items that the read does not give.
pub(super) struct RowReader<'s> {
    pub(super) cursor: DocumentCursor<'s>,
    pub(super) on_unreadable: Option<OnUnreadable<'s>>,
    pub(super) list: Arc<ItemList>,
    /// The position at which the first whole bucket is cut, if the read goes on from a token.
    pub(super) cut: Option<ItemPosition>,
    /// The number of rows that are still to be skipped.
    pub(super) skip: u64,
}

impl RowReader<'_> {
    pub(super) async fn next<E: ItemForm>(&mut self) -> Result<Option<ItemRow<E::Item>>> {
        let on_unreadable = self.on_unreadable.as_mut();
        let next = next_bucket::<E::Of, E::Stored>(&mut self.cursor, on_unreadable);
        let Some((bucket, row)) = next.await? else {
            return Ok(None);
        };
        let bytes = row.to_owned();
        let StoredBucket {
            key,
            elements,
            left_out,
            ..
        } = bucket.expect_key(self.cursor.target())?;
        let bucket = RowBucket {
            bytes,
            readable: elements.len(),
            left_out,
        };
        let items = elements.into_iter().map(|stored| E::item(&key, stored));
        let mut items = Vec::from_iter(items);
        if self.list.query.newest_first {
            items.reverse();
        }
        let mut items = items.into_iter();
        let not_given = match self.cut.take() {
            Some(cut) => bucket.before_cut(&self.list, &cut),
            None if self.skip > 0 => {
                self.skip -= 1;
                items.len()
            }
            None => 0,
        };
        items.by_ref().take(not_given).for_each(drop);
        Ok(Some(ItemRow { items, bucket }))
    }
}

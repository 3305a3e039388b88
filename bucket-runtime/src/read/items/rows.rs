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

/// A row, and those of its items that are to be given, each with the number of elements before it
/// in the bucket.
pub(super) struct ItemRow<T> {
    pub(super) items: IntoIter<(u64, T)>,
    pub(super) bucket: RowBucket,
}

/// The bucket of a row.
pub(super) struct RowBucket {
    pub(super) bytes: RawDocumentBuf,
    /// The number of elements, with those that cannot be read.
    pub(super) length: u64,
}

impl RowBucket {
    /// The position after the last given item, if the item with this number is to be given next.
    pub(super) fn position(&self, list: &ItemList, next: Option<u64>) -> Option<ItemPosition> {
        let newest_first = list.query.newest_first;
        let before = match (next, newest_first) {
            (None, false) => self.length,
            (None, true) => 0,
            (Some(next), false) => next,
            (Some(next), true) => next + 1,
        };
        Some(ItemPosition {
            bucket: self.bytes.get_str("_id").ok()?.to_owned(),
            before: u32::try_from(before).ok()?,
            side: NeighbourSide::of_given(newest_first),
            neighbours: list.neighbours(&self.bytes, before as usize),
        })
    }

    /// The number of elements before the cut; `None` if the cut is in another bucket.
    fn find_cut(&self, list: &ItemList, cut: &ItemPosition) -> Option<u64> {
        (self.bytes.get_str("_id").ok() == Some(&cut.bucket)).then(|| {
            let elements = list.fingerprints(&self.bytes, 0..usize::MAX);
            let elements = Vec::from_iter((0..).zip(elements));
            let found = cut.find_among(&elements, list.query.newest_first);
            found.before.into()
        })
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
            length: (elements.len() + left_out.len()) as u64,
        };
        let numbers = (0..).filter(|number| left_out.binary_search(number).is_err());
        let items = numbers.zip(elements);
        let mut items = Vec::from_iter(items.map(|(n, stored)| (n, E::item(&key, stored))));
        let newest_first = self.list.query.newest_first;
        if newest_first {
            items.reverse();
        }
        if let Some(cut) = self.cut.take() {
            if let Some(before) = bucket.find_cut(&self.list, &cut) {
                items.retain(|(number, _)| (*number < before) == newest_first);
            }
        } else if self.skip > 0 {
            self.skip -= 1;
            items.clear();
        }
        let items = items.into_iter();
        Ok(Some(ItemRow { items, bucket }))
    }
}

//! A read of single items, with a filter or a limit: rows that the server unwinds, or the client
//! where it can (`protocol/query/whole.rs`).

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use bucket_core::{server::read::cursor::DocumentCursor, value::unreadable::OnUnreadable};
use futures_util::stream::{BoxStream, StreamExt, try_unfold};
use mongodb::{ClientSession, bson::RawDocumentBuf};

use super::{
    list::{ItemList, ReadStart},
    place::{ReadPlace, resume, rows},
    stream::ItemForm,
};
use crate::{Result, read::stored_bucket::next_bucket};

/// The rows of a read, each of them a bucket with one item.
pub(super) struct ItemRows<'s, T> {
    pub(super) list: Arc<ItemList>,
    pub(super) place: ReadPlace,
    rows: BoxStream<'s, Result<ItemRow<T>>>,
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
            Some(position) => resume(&*list, position.clone(), session).await?,
            None => {
                let all = rows(&*list, &list.query, start.bucket.as_ref(), session);
                (all.await?, None)
            }
        };
        let reader = ItemReader {
            cursor,
            on_unreadable,
            skip: start.position.as_ref().map_or(0, |_| list.query.skip),
        };
        let rows = try_unfold(reader, async |mut reader| {
            let row = reader.next::<E>().await?;
            Ok(row.map(|row| (row, reader)))
        });
        Ok(Self {
            list,
            place: ReadPlace::new(start.position, neighbour),
            rows: rows.boxed(),
        })
    }
}

impl<T> ItemRows<'_, T> {
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            match ready!(self.rows.poll_next_unpin(cx)).transpose() {
                Ok(Some(ItemRow { item, bytes })) => {
                    self.place.note_given(bytes);
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
}

/// Reads the rows, and leaves out the skipped items.
struct ItemReader<'s> {
    cursor: DocumentCursor<'s>,
    on_unreadable: Option<OnUnreadable<'s>>,
    /// The number of rows that are still to be skipped.
    skip: u64,
}

impl ItemReader<'_> {
    async fn next<E: ItemForm>(&mut self) -> Result<Option<ItemRow<E::Item>>> {
        let on_unreadable = self.on_unreadable.as_mut();
        let next = next_bucket::<E::Of, E::Stored>(&mut self.cursor, on_unreadable);
        let Some((bucket, row)) = next.await? else {
            return Ok(None);
        };
        let bytes = row.to_owned();
        let bucket = bucket.expect_key(self.cursor.target())?;
        let mut elements = bucket.elements;
        if self.skip > 0 {
            self.skip -= 1;
            elements.clear();
        }
        let item = elements.pop().map(|stored| E::item(&bucket.key, stored));
        Ok(Some(ItemRow { item, bytes }))
    }
}

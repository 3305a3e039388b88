//! The extras of a parent, one document after the other.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::stream::{BoxStream, Stream, StreamExt, try_unfold};
use mongodb::{ClientSession, bson::Document};

use super::parent_read::{ParentRead, parent_read_settings};
use crate::{
    Result,
    outlier::{IdRef, Outlier, Outliers, extra::ExtraItem, parent_handle::ParentHandle},
    protocol::range::Range,
    server::cursor::DocumentCursor,
    value::{stored_bucket::StoredBucket, unreadable::OnUnreadable},
};

impl<T: Outlier> Outliers<T> {
    /// The extras as a stream, one document after the other. It does not read the parent.
    pub fn extras(&self, id: IdRef<'_, T>) -> Extras<'static, T> {
        Extras(ParentRead::new(self.parent(id)))
    }
}

/// Builder of a read of all extras of a parent: await it; see
/// [`Outliers::extras`](crate::Outliers::extras).
#[must_use = "nothing is read until this is awaited"]
pub struct Extras<'s, T>(ParentRead<'s, T>);

impl<'s, T: Outlier> Extras<'s, T> {
    parent_read_settings! {
        /// Leaves out the items that cannot be read, and tells of each, as
        /// [`ParentItems::skip_unreadable`](crate::action::ParentItems::skip_unreadable) does. The stream
        /// borrows what the closure does.
    }

    pub(crate) async fn execute(self) -> Result<ExtrasStream<'s, T::Item>> {
        self.0.parent.note_call();
        open_extras(self.0).await
    }
}

/// One extras document, which is a bucket.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExtrasBucket<I> {
    /// The document's `_id`.
    pub id: String,
    /// The document's items, in the order in which they were stored.
    pub items: Vec<I>,
}

/// The extras documents of a parent, in order.
pub struct ExtrasStream<'s, I>(BoxStream<'s, Result<ExtrasBucket<I>>>);

impl<I> Stream for ExtrasStream<'_, I> {
    type Item = Result<ExtrasBucket<I>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

/// Reads a parent, and opens the stream of its extras if it has any.
pub(super) async fn get_with_extras<'s, T: Outlier>(
    mut read: ParentRead<'s, T>,
) -> Result<Option<(T, Option<ExtrasStream<'s, T::Item>>)>> {
    let Some(parent) = read.get().await? else {
        return Ok(None);
    };
    let extras = match parent.has_extras {
        true => Some(open_extras(read).await?),
        false => None,
    };
    Ok(Some((parent.document, extras)))
}

/// Opens the stream of a parent's extras.
async fn open_extras<'s, T: Outlier>(read: ParentRead<'s, T>) -> Result<ExtrasStream<'s, T::Item>> {
    let ParentRead {
        parent,
        session,
        on_unreadable,
        ..
    } = read;
    let rows = find::<T>(&parent, parent.scope.unnumbered_extras(), session).await?;
    let reader = ExtrasReader {
        parent,
        rows,
        reads_numbered: false,
        on_unreadable,
    };
    Ok(ExtrasStream(try_unfold(reader, ExtrasReader::next).boxed()))
}

/// Finds extras documents, in the order of their ids.
async fn find<'s, T: Outlier>(
    parent: &ParentHandle,
    filter: Document,
    session: Option<&'s mut ClientSession>,
) -> Result<DocumentCursor<'s, StoredBucket<ExtraItem<T>>>> {
    let found = parent.extras().find(filter, Range::oldest_first());
    found.cursor(session).await
}

/// A read of a parent's extras under way.
///
/// First come the documents without a number, which the manual's commands wrote, then ours in order. It takes
/// two finds: their ids have different types, and the server sorts by type before value.
struct ExtrasReader<'s, T: Outlier> {
    parent: ParentHandle,
    rows: DocumentCursor<'s, StoredBucket<ExtraItem<T>>>,
    reads_numbered: bool,
    on_unreadable: Option<OnUnreadable<'s>>,
}

impl<T: Outlier> ExtrasReader<'_, T> {
    async fn next(mut self) -> Result<Option<(ExtrasBucket<T::Item>, Self)>> {
        loop {
            let on_unreadable = self.on_unreadable.as_mut();
            let next = self.rows.next_bucket(on_unreadable).await?;
            if let Some(StoredBucket { id, elements, .. }) = next {
                self.rows.give(elements.len());
                let items = elements;
                return Ok(Some((ExtrasBucket { id, items }, self)));
            }
            if self.reads_numbered {
                return Ok(None);
            }
            let calls = self.rows.calls().clone();
            let numbered = self.parent.scope.extras.all();
            let numbered = find(&self.parent, numbered, self.rows.into_session());
            self.rows = calls.carry(numbered).await?;
            self.reads_numbered = true;
        }
    }
}

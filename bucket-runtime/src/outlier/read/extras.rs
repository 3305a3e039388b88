//! The extras of a parent, one document after the other.

use std::marker::PhantomData;

use bucket_core::protocol::query::Query;
use futures_util::stream::{empty, try_unfold};

use super::item_form::ParentItemForm;
use crate::{
    Result,
    outlier::{IdRef, Outlier, Outliers, extra::ExtraItem, parent_handle::ParentHandle},
    read::{
        part::Whole,
        settings::{DocumentSettings, stream_settings},
        stored_bucket::{StoredBucket, next_bucket},
        stream::ReadStream,
    },
};

impl<T: Outlier> Outliers<T> {
    /// The extras as a stream, one document after the other. It does not read the parent.
    pub fn extras(&self, id: IdRef<'_, T>) -> Extras<'static, T> {
        Extras {
            parent: self.parent(id),
            newest_first: false,
            read: DocumentSettings::default(),
            item: PhantomData,
        }
    }
}

/// Builder of a read of all extras of a parent: await it; see
/// [`Outliers::extras`](crate::Outliers::extras).
#[must_use = "nothing is read until this is awaited"]
pub struct Extras<'s, T> {
    parent: ParentHandle,
    newest_first: bool,
    read: DocumentSettings<'s>,
    item: PhantomData<fn() -> T>,
}

impl<'s, T: Outlier> Extras<'s, T> {
    /// Returns the documents in reverse order, the last one first. The items of each stay in the
    /// order in which they were stored.
    pub fn newest_first(mut self) -> Self {
        self.newest_first = true;
        self
    }

    stream_settings! {
        |extras| extras.read,
        /// Leaves out the items that cannot be read, and tells of each, as
        /// [`ParentItems::skip_unreadable`](crate::action::ParentItems::skip_unreadable) does. The
        /// stream borrows what the closure does.
    }

    pub(crate) async fn execute(self) -> Result<ReadStream<'s, ExtrasBucket<T::Item>>> {
        let parent = self.parent.read_with(&self.read);
        open_extras::<Whole<T>>(parent, self.read, self.newest_first).await
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

/// Reads a parent, and opens the stream of its extras.
pub(super) async fn get_with_extras<'s, F: ParentItemForm>(
    parent: ParentHandle,
    mut settings: DocumentSettings<'s>,
    newest_first: bool,
) -> Result<Option<(F::Document, ReadStream<'s, ExtrasBucket<F::Item>>)>> {
    let parent = parent.read_with(&settings);
    let Some(found) = parent.get::<F>(&mut settings).await? else {
        return Ok(None);
    };
    let extras = match found.has_extras {
        true => open_extras::<F>(parent, settings, newest_first).await?,
        false => ReadStream::new(empty()),
    };
    Ok(Some((found.document, extras)))
}

/// Opens the stream of a parent's extras.
async fn open_extras<'s, F: ParentItemForm>(
    parent: ParentHandle,
    settings: DocumentSettings<'s>,
    newest_first: bool,
) -> Result<ReadStream<'s, ExtrasBucket<F::Item>>> {
    let query = Query {
        newest_first,
        names: F::names(),
        ..Query::everything()
    };
    let scope = &parent.scope.extras;
    let extras = parent.extras();
    let extras = extras.find(scope.all(), query.bucket_range(scope.spec));
    let state = (
        extras.cursor(settings.session).await?,
        parent,
        settings.more.0,
    );
    let extras = try_unfold(state, async |(mut rows, parent, mut on_unreadable)| {
        let on_item = on_unreadable.as_mut();
        let next = next_bucket::<ExtraItem<F::Of>, F::StoredItem>(&mut rows, on_item);
        let Some((StoredBucket { id, elements, .. }, row)) = next.await? else {
            return Ok(None);
        };
        parent.check_extras_document(row)?;
        let items = elements.into_iter().map(F::item).collect();
        let extras = ExtrasBucket { id, items };
        Ok(Some((extras, (rows, parent, on_unreadable))))
    });
    Ok(ReadStream::new(extras))
}

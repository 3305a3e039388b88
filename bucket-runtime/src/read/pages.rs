//! Streams of the pages of a key, in bounded memory.

use std::marker::PhantomData;

use bucket_core::protocol::{command::holds_items, range::Range};
use futures_util::stream::try_unfold;

use crate::{
    Bucket, Buckets, KeyRef, Result,
    read::{
        page::Page,
        reader::Reader,
        settings::{DocumentSettings, stream_settings},
        stream::ReadStream,
    },
};

impl<T: Bucket> Buckets<T> {
    /// Streams all pages of a key, in the order of ids. One round trip for the first batch.
    #[doc(alias = "pagination", alias = "cursor")]
    pub fn pages(&self, key: KeyRef<'_, T>) -> Pages<'static, T> {
        Pages {
            reader: self.reader(key),
            read: DocumentSettings::default(),
            skip_empty: false,
            item: PhantomData,
        }
    }
}

/// Builder of a read of all pages of a key: await it. The output is a
/// [`ReadStream`](crate::ReadStream) of [`Page`]s.
#[must_use = "nothing is read until this is awaited"]
pub struct Pages<'s, T> {
    reader: Reader,
    read: DocumentSettings<'s>,
    skip_empty: bool,
    item: PhantomData<fn() -> T>,
}

impl<'s, T: Bucket> Pages<'s, T> {
    stream_settings! {
        |pages| pages.read,
        /// Skips the items that cannot be read and calls the closure for each, as
        /// [`Items::skip_unreadable`](crate::action::Items::skip_unreadable) does. The stream
        /// borrows the closure's borrows.
    }

    /// Leaves out the pages whose items were removed. A numbered bucket that is full or sealed
    /// stays when it becomes empty, since its number is never given twice, and
    /// [`page_count`](crate::Buckets::page_count) counts it.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # use futures_util::TryStreamExt;
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, key: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// let mut pages = trades.pages(key).skip_empty(true).await?;
    /// let first = pages.try_next().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn skip_empty(mut self, skip: bool) -> Self {
        self.skip_empty = skip;
        self
    }

    pub(crate) async fn execute(mut self) -> Result<ReadStream<'s, Page<T>>> {
        self.read.apply_to(&mut self.reader.server);
        let mut all = self.reader.scope.all();
        all.extend(self.skip_empty.then(|| holds_items(T::SPEC.items)));
        let all = self.reader.target().find(all, Range::oldest_first());
        let rows = all.cursor(self.read.session).await?;
        let state = (rows, self.reader.scope, self.read.more.0);
        let pages = try_unfold(state, async |(mut rows, scope, mut on_unreadable)| {
            let page = Page::next(&mut rows, &scope, on_unreadable.as_mut()).await?;
            Ok(page.map(|page| (page, (rows, scope, on_unreadable))))
        });
        Ok(ReadStream::new(pages))
    }
}

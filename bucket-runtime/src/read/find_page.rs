//! Single pages: by number, and the last one.

use bucket_core::{
    protocol::{command::holds_items, range::Range},
    schema::{id, spec::Ordinal},
    server::call::span,
};
use mongodb::bson::{Document, doc};

use crate::{
    Bucket, Buckets, KeyRef,
    read::{page::Page, reader::Reader, settings::ReadDocument},
};

impl<T: Bucket> Buckets<T> {
    /// Reads page `n` of a key, counted from 1; `None` if it does not exist.
    ///
    /// One round trip. With `{#}` the page is found by its exact id, whatever its number. With a
    /// time ordinal the server skips `n - 1` entries of the `_id` index and fetches one document
    /// (seen with `explain` on server 6.0): a list that is shown page by page goes on by the tokens
    /// of [`page_of_items`](crate::action::Items::page_of_items) instead, as fast at any depth.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// if let Some(page) = trades.page(alice, 1).await? {
    ///     println!("{} items", page.items.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "pagination")]
    pub fn page<'s>(&self, key: KeyRef<'_, T>, n: u64) -> ReadDocument<'s, Option<Page<T>>> {
        let reader = self.reader(key);
        let find = find_page(&reader, n);
        read_page(reader, find)
    }

    /// Reads the last page of a key in the order of ids: with a time ordinal the one with the
    /// latest first item, with `{#}` the newest, with time windows the last one of the latest
    /// window; `None` if the key has no items. One round trip. A page whose items were removed is
    /// passed by.
    pub fn latest<'s>(&self, key: KeyRef<'_, T>) -> ReadDocument<'s, Option<Page<T>>> {
        let reader = self.reader(key);
        let mut all = reader.scope.all();
        all.extend([holds_items(T::SPEC.items)]);
        read_page(reader, Some((all, Range::newest_first())))
    }
}

/// Reads the page that this filter and this order find; there is none if they are `None`.
fn read_page<'s, T: Bucket>(
    mut reader: Reader,
    find: Option<(Document, Range)>,
) -> ReadDocument<'s, Option<Page<T>>> {
    ReadDocument::new(span!(page), move |mut settings| async move {
        settings.apply_to(&mut reader.server);
        let target = reader.target();
        let Some((filter, mut range)) = find else {
            return Ok(None);
        };
        range.limit = Some(1);
        let mut rows = target.find(filter, range).cursor(settings.session).await?;
        Page::next(&mut rows, &reader.scope, settings.more.0.as_mut()).await
    })
}

/// The find of page `n` of a key, counted from 1: by its own id if buckets are numbered, else
/// `n - 1` ids after the first.
fn find_page(Reader { server, scope }: &Reader, n: u64) -> Option<(Document, Range)> {
    let before = n.checked_sub(1)?;
    // The server counts in signed numbers.
    i64::try_from(before).ok()?;
    if scope.spec.id.ordinal == Ordinal::Number {
        let number = id::number(before)?;
        // The server makes no plan for a filter on `_id` alone.
        let id = doc! { "_id": scope.id(&number) };
        return Some((server.by_ids(scope, id), Range::oldest_first()));
    }
    let range = Range {
        skip: before,
        ..Range::oldest_first()
    };
    Some((server.by_ids(scope, scope.ids()), range))
}

//! A page: one bucket, read.

use bucket_core::{
    protocol::command::IndexedScope,
    server::read::cursor::DocumentCursor,
    value::{rollup::Totals, unreadable::OnUnreadable},
};

use crate::{
    Bucket, Result,
    read::{
        rollup::typed::Rollup,
        stored_bucket::{StoredBucket, next_bucket},
    },
};

/// One bucket: a page that the application can show as it is.
///
/// ```
/// # use bucket_runtime::{Bucket, Page};
/// # fn show<T: Bucket + std::fmt::Debug>(page: Page<T>) {
/// for item in &page.items {
///     println!("{item:?}");
/// }
/// println!("{}, with room for more: {}", page.id(), page.is_open());
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items, in the order in which they were appended.
    pub items: Vec<T>,
    id: String,
    open: bool,
    left_out: usize,
    totals: Option<Totals>,
}

impl<T> Page<T> {
    /// The bucket's `_id`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether the bucket had room for further items when it was read.
    pub fn is_open(&self) -> bool {
        self.open
    }
}

impl<T: Bucket> Page<T> {
    /// The next page of a find. Unreadable elements are an error, unless a callback takes them.
    pub(crate) async fn next(
        rows: &mut DocumentCursor<'_>,
        scope: &IndexedScope,
        on_unreadable: Option<&mut OnUnreadable<'_>>,
    ) -> Result<Option<Self>> {
        let Some((bucket, _)) = next_bucket(rows, on_unreadable).await? else {
            return Ok(None);
        };
        let page = Self::new(bucket.expect_key(rows.target())?, scope);
        Ok(Some(page))
    }

    /// The page that shows a bucket of this key.
    pub(crate) fn new(mut bucket: StoredBucket<T>, scope: &IndexedScope) -> Self {
        let held = bucket.elements.len() + bucket.left_out.len();
        Self {
            open: !bucket.sealed && held < scope.open.capacity as usize,
            left_out: bucket.left_out.len(),
            id: std::mem::take(&mut bucket.id),
            totals: bucket.totals.take(),
            items: bucket.into_items(),
        }
    }

    /// The bucket's rollup (`#[bucket(sum, min, max)]`); `None` if it does not cover all items,
    /// because another program wrote some.
    pub fn rollup(&self) -> Option<Rollup<T>> {
        let items = self.items.len() + self.left_out;
        Rollup::read(items as u64, self.totals.clone()?)
    }
}

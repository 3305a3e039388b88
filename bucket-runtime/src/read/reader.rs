//! The buckets of one key, for reading.

use std::borrow::Cow;

use mongodb::bson::RawDocument;
use serde::de::DeserializeOwned;

use crate::{
    Bucket, Result,
    error::Kind,
    protocol::command::IndexedScope,
    read::page::Page,
    server::{
        Server,
        cursor::{CursorError, DocumentCursor},
        target::Target,
    },
    value::{
        stored_bucket::StoredBucket,
        unreadable::{Tell, sift},
    },
};

/// One key of one collection, for reading.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) server: Server,
    pub(crate) scope: IndexedScope,
}

impl Reader {
    /// The next page of a find. Unreadable elements are an error, unless a callback takes them.
    pub(crate) async fn next<T: Bucket>(
        &self,
        rows: &mut DocumentCursor<'_, StoredBucket<T>>,
        tell: Option<&mut Tell<'_>>,
    ) -> Result<Option<Page<T>>> {
        let Some(bucket) = next_bucket(self.target(), rows, tell).await? else {
            return Ok(None);
        };
        let page = Page::of(bucket, &self.scope);
        let page = page.map_err(|id| self.target().error(Kind::ForeignId(id)))?;
        rows.give(page.items.len());
        Ok(Some(page))
    }

    /// The current call is about this key.
    pub(crate) fn called(&self) {
        self.server.called_for(Some(&self.scope));
    }

    pub(crate) fn target(&self) -> Target<'_> {
        self.server.target_of(&self.scope)
    }
}

/// The next bucket of a find. Unreadable elements are an error, unless a callback takes them.
pub(crate) async fn next_bucket<T: Bucket, E: DeserializeOwned + Send + 'static>(
    target: Target<'_>,
    rows: &mut DocumentCursor<'_, StoredBucket<T, E>>,
    tell: Option<&mut Tell<'_>>,
) -> Result<Option<StoredBucket<T, E>>> {
    let next = next_bucket_and(target, rows, tell, |_| ()).await?;
    Ok(next.map(|(bucket, ())| bucket))
}

/// The next bucket of a find, and what a function takes of its bytes. Unreadable elements are an error,
/// unless a callback takes them.
pub(crate) async fn next_bucket_and<T: Bucket, E: DeserializeOwned + Send + 'static, X>(
    target: Target<'_>,
    rows: &mut DocumentCursor<'_, StoredBucket<T, E>>,
    tell: Option<&mut Tell<'_>>,
    take: impl Fn(Cow<'_, RawDocument>) -> X,
) -> Result<Option<(StoredBucket<T, E>, X)>> {
    match rows.next_and(&take).await {
        Err(CursorError::Decode(row, error)) => {
            let fail = |error| target.unreadable(&row, error);
            let bucket = sift(&row, error, tell, fail)?;
            Ok(Some((bucket, take(Cow::Owned(row)))))
        }
        found => found.map_err(|error| target.row_error(error)),
    }
}

//! The buckets of one key, for reading.

use std::borrow::Cow;

use mongodb::bson::RawDocument;
use serde::de::DeserializeOwned;

use crate::{
    Bucket, Result,
    protocol::command::IndexedScope,
    server::{Server, cursor::DocumentCursor, target::Target},
    value::{stored_bucket::StoredBucket, unreadable::OnUnreadable},
};

/// One key of one collection, for reading.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) server: Server,
    pub(crate) scope: IndexedScope,
}

impl Reader {
    /// Names this key as the one that the current call concerns.
    pub(crate) fn called(&self) {
        self.server.called_for(Some(&self.scope));
    }

    pub(crate) fn target(&self) -> Target<'_> {
        self.server.target_of(&self.scope)
    }
}

pub(crate) async fn next_bucket<T: Bucket, E: DeserializeOwned + Send + 'static>(
    _: Target<'_>,
    rows: &mut DocumentCursor<'_, StoredBucket<T, E>>,
    on_unreadable: Option<&mut OnUnreadable<'_>>,
) -> Result<Option<StoredBucket<T, E>>> {
    rows.next_bucket(on_unreadable).await
}

pub(crate) async fn next_bucket_and<T: Bucket, E: DeserializeOwned + Send + 'static, X>(
    _: Target<'_>,
    rows: &mut DocumentCursor<'_, StoredBucket<T, E>>,
    on_unreadable: Option<&mut OnUnreadable<'_>>,
    take: impl Fn(Cow<'_, RawDocument>) -> X,
) -> Result<Option<(StoredBucket<T, E>, X)>> {
    rows.next_bucket_and(on_unreadable, take).await
}

//! The buckets of one key, for reading.

use crate::{
    Bucket, Error, Result,
    error::Kind,
    protocol::command::KeyScope,
    read::page::Page,
    server::{
        Server,
        cursor::{self, CursorError, DocumentCursor},
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
    pub(crate) scope: KeyScope,
}

impl Reader {
    /// The next page of a find. Unreadable elements are an error, unless a callback takes them.
    pub(crate) async fn next<T: Bucket>(
        &self,
        rows: &mut DocumentCursor<'_, StoredBucket<T>>,
        tell: Option<&mut Tell<'_>>,
    ) -> Result<Option<Page<T>>> {
        let bucket = match rows.next().await {
            Ok(Some(bucket)) => bucket,
            Ok(None) => return Ok(None),
            Err(CursorError::Driver(error)) => return Err(self.failed(error)),
            Err(CursorError::Decode(row, error)) => sift(&row, error, tell, |error| {
                let id = cursor::id(&row);
                self.fail(Kind::Deserialize(id)).with_driver(error)
            })?,
        };
        Page::of(bucket, &self.scope)
            .map(Some)
            .map_err(|id| self.fail(Kind::ForeignId(id)))
    }

    pub(crate) fn failed(&self, error: mongodb::error::Error) -> Error {
        Error::read(error, self.server.name()).with_key(&self.scope.label())
    }

    pub(crate) fn fail(&self, kind: Kind) -> Error {
        Error::new(kind, self.server.name()).with_key(&self.scope.label())
    }
}

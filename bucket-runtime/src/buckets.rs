//! The handle for the buckets of one collection.

use std::{fmt, marker::PhantomData};

use bucket_core::{
    protocol::command::{IndexedScope, KeyScope},
    schema::key::Key,
    server::target::OwnedTarget,
};
use mongodb::{Collection, bson::Document};

use crate::{
    Bucket, KeyRef,
    read::reader::Reader,
    write::{append::Writer, engine::Engine},
};

/// The buckets of one collection: append to them, page through them, stream them.
///
/// Opened by [`Bucket::buckets`]. A handle is cheap to clone, so tasks can share it.
///
/// Every call is a builder that does nothing until it is awaited, and takes an optional session
/// before that: `trades.append(&trade).session(&mut session).await?`.
pub struct Buckets<T> {
    pub(crate) writer: Writer,
    item: PhantomData<fn() -> T>,
}

impl<T> Clone for Buckets<T> {
    fn clone(&self) -> Self {
        Self {
            writer: self.writer.clone(),
            item: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Buckets<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Buckets")
            .field(&self.writer.engine.server.name())
            .finish()
    }
}

impl<T: Bucket> Buckets<T> {
    pub(crate) fn new(writer: Writer) -> Self {
        Self {
            writer,
            item: PhantomData,
        }
    }

    /// A filter for all buckets of a key, for commands of your own on
    /// [`collection`](Self::collection): a range of ids, which the `_id` index answers.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> mongodb::error::Result<()> {
    /// let erased = trades.collection().delete_many(trades.filter(alice)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(&self, key: KeyRef<'_, T>) -> Document {
        self.scope(key).all()
    }

    /// The driver's handle of the collection, for everything else.
    pub fn collection(&self) -> &Collection<Document> {
        self.writer.engine.server.collection()
    }

    /// One key, for requests that do not depend on the open index.
    pub(crate) fn target(&self, key: KeyRef<'_, T>) -> OwnedTarget {
        OwnedTarget {
            scope: Some(self.scope(key).key),
            ..self.target_of_all()
        }
    }

    /// All keys.
    pub(crate) fn target_of_all(&self) -> OwnedTarget {
        OwnedTarget {
            server: self.writer.engine.server.clone(),
            scope: None,
        }
    }

    pub(crate) fn reader(&self, key: KeyRef<'_, T>) -> Reader {
        Reader {
            server: self.writer.engine.server.clone(),
            scope: self.scope(key),
        }
    }

    pub(crate) fn engine(&self) -> Engine {
        self.writer.engine.clone()
    }

    pub(crate) fn scope(&self, key: KeyRef<'_, T>) -> IndexedScope {
        KeyScope::new(const { &T::SPEC }, T::Key::parts(key)).by(self.writer.engine.open)
    }
}

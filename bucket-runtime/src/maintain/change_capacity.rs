//! Changing the capacity of a collection, while writers go on.

mod index;
mod run;
mod survey;
mod write;

use std::marker::PhantomData;

use mongodb::{Collection, bson::Document};

use self::survey::Survey;
use crate::{Bucket, Error, Result, server::Server};

/// How far a [`change_capacity`](crate::Bucket::change_capacity) is.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CapacityProgress {
    /// How many buckets were looked at.
    pub seen: u64,
    /// How many of them were replaced.
    pub replaced: u64,
    /// How many buckets were written in their place.
    pub written: u64,
    /// Which keys were left as they are, and why; each error names its [key](Error::key).
    pub left: Vec<Error>,
}

/// The change of a collection's capacity, which waits to be awaited; see
/// [`Bucket::change_capacity`](crate::Bucket::change_capacity).
#[must_use = "nothing is changed until this is awaited"]
pub struct ChangeCapacity<'p, T> {
    collection: Collection<Document>,
    repack: bool,
    progress: Box<dyn FnMut(&CapacityProgress) + Send + 'p>,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> ChangeCapacity<'static, T> {
    pub(crate) fn new(collection: Collection<Document>) -> Self {
        Self {
            collection,
            repack: false,
            progress: Box::new(|_| ()),
            item: PhantomData,
        }
    }
}

impl<'p, T: Bucket> ChangeCapacity<'p, T> {
    /// Whether all buckets are rewritten, so that a key's buckets are full but for the last one.
    /// They are not unless this is called with `true`.
    pub fn repack(mut self, repack: bool) -> Self {
        self.repack = repack;
        self
    }

    /// Calls this after each command that rewrites buckets, and at the end.
    pub fn on_progress<'q>(
        self,
        progress: impl FnMut(&CapacityProgress) + Send + 'q,
    ) -> ChangeCapacity<'q, T> {
        ChangeCapacity {
            collection: self.collection,
            repack: self.repack,
            progress: Box::new(progress),
            item: self.item,
        }
    }
}

impl<'p, T: Bucket> ChangeCapacity<'p, T> {
    pub(crate) async fn execute(self) -> Result<CapacityProgress> {
        let server = Server::new(self.collection);
        server.needs_replica_set("change_capacity").await?;
        let open = index::change::<T>(&server).await?;
        let mut survey = Survey::<T>::new(server, open, self.repack, self.progress);
        survey.run().await?;
        Ok(survey.progress)
    }
}

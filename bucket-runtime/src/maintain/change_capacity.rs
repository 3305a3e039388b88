//! Changes the capacity of a collection, while writers go on.

mod index;
mod run;
mod survey;
mod write;

use std::marker::PhantomData;

use mongodb::{Collection, bson::Document};

use self::survey::Survey;
use crate::{Bucket, Error, Result, server::Server};

/// The progress of a [`change_capacity`](crate::Bucket::change_capacity).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CapacityProgress {
    /// How many buckets were read.
    pub seen: u64,
    /// How many of them were replaced.
    pub replaced: u64,
    /// How many buckets replaced them.
    pub written: u64,
    /// The keys that were not rewritten, and why: each error names its [key](Error::key).
    pub left: Vec<Error>,
}

/// Builder of a change of capacity: await it; see
/// [`Bucket::change_capacity`](crate::Bucket::change_capacity).
#[must_use = "nothing is changed until this is awaited"]
pub struct ChangeCapacity<'p, T> {
    collection: Collection<Document>,
    repack: bool,
    progress: Box<dyn FnMut(&CapacityProgress) + Send + 'p>,
    item: PhantomData<fn() -> T>,
}

impl<'p, T: Bucket> ChangeCapacity<'p, T> {
    pub(crate) fn new(collection: Collection<Document>) -> Self {
        Self {
            collection,
            repack: false,
            progress: Box::new(|_| ()),
            item: PhantomData,
        }
    }

    /// Whether to rewrite all buckets, so that all buckets of a key except its last are full. The
    /// default is `false`.
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

    pub(crate) async fn execute(self) -> Result<CapacityProgress> {
        let server = Server::new(self.collection);
        server.needs_replica_set("change_capacity").await?;
        let open = index::change::<T>(&server).await?;
        let mut survey = Survey::<T>::new(server, open, self.repack, self.progress);
        survey.run().await?;
        Ok(survey.progress)
    }
}

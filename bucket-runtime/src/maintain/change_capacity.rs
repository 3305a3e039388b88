//! Changes the capacity of a collection, while writers go on.
//!
//! The bound of the open index is the collection's capacity. With a hint, the server uses an index even if its
//! bound is below the one in the filter, so the bound alone would not stop a handle with another capacity. The
//! name of the index therefore changes with the capacity (`bucket_open`, later `bucket_open_25`), and every
//! command that depends on the capacity names it as its hint. A handle that is refused reads the indexes, and
//! waits up to three seconds for a missing one (`server/current_index.rs`). `change_capacity` drops the old
//! index before it creates the new one, since both at once would refuse each other's buckets. If the capacity
//! grows, it first seals full buckets, which the greater bound would open again.
//!
//! The server interrupts an update whose index is dropped. Server 6.0 may have changed the document by then, 8.2
//! has not (`tests/live/server_claims/dropped_index.rs`). So the update is sent again: on a replica set before
//! 8.2 under its number, which shows whether it was carried out, and from 8.2 on as it is. Elsewhere its items
//! are in doubt.
//!
//! Runs of successive buckets are rewritten, each in one transaction, which first reads by its own index, so that one
//! of an overtaken call writes nothing. A run ends between two moments, where there is room for its new ids; a numbered
//! key and a window are rewritten in one run. Only a run with the open bucket can lose to writers, so a run ends before
//! it if it can. After losing, a transaction first changes the open bucket and takes the change back: from then on the
//! server makes the writers wait. If a writer has opened and filled a bucket since a transaction began, the server
//! refuses that transaction's open bucket, which would stand before it (`tests/live/server_claims/dropped_index.rs`). It
//! would not if that bucket had been stored full. So writers insert no full numbered bucket where the index has the name
//! of a changed capacity, and a `repack` of numbered buckets gives it that name in any case. A numbered key that became
//! shorter and ends in a full bucket gets an empty open one: otherwise a writer that has read the greatest number would
//! take the next one, and leave a gap. If a call is dropped, the server still builds its index to the end, lists it, and
//! refuses to use it until then (`tests/live/maintain/change_capacity/index.rs`). So the next call creates the listed
//! index once more, which waits.

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
        let open = index::change::<T>(&server, self.repack).await?;
        let mut survey = Survey::<T>::new(server, open, self.repack, self.progress);
        survey.run().await?;
        Ok(survey.progress)
    }
}

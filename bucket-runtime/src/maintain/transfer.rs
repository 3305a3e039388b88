//! Moves items from elsewhere into the buckets of a collection, in transactions that also record the progress.
//!
//! A source yields the items in chunks: sorted flat documents (`import_flat`), or old buckets and the events that
//! follow (`migrate`). One transaction stores a chunk, so each item is stored once, wherever a call is interrupted.

mod chunk;
mod record;
mod store;

use serde::{Serialize, de::DeserializeOwned};

use self::store::StoreChunk;
pub(super) use self::{
    chunk::Chunk,
    record::{RECORDS, Record, Resumptions},
    store::{find_any, refuse_keys},
};
use crate::{Result, server::transaction, write::engine::Engine};

/// A call that moves items: where they go, and how far it has come.
pub(super) struct Transfer<S> {
    pub(super) engine: Engine,
    pub(super) record: Record,
    /// The state that the record holds.
    pub(super) state: S,
    /// Whether items with an identity that is already there are left out; otherwise they are an error.
    pub(super) leaves_out_present: bool,
}

impl<S: Serialize + DeserializeOwned> Transfer<S> {
    /// Stores a chunk, and the state after it.
    pub(super) async fn store(&mut self, chunk: Chunk, next: S) -> Result<()> {
        let store = StoreChunk::plan(self, chunk, record::document(&self.engine.server, &next)?);
        transaction::run(&self.engine.server, store.await?).await?;
        self.record.count_step();
        self.state = next;
        Ok(())
    }
}

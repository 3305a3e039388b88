//! Moves items from elsewhere into the buckets of a collection, in transactions that also record
//! the progress.
//!
//! A source yields the items in chunks: sorted flat documents (`import_flat`), or old buckets and
//! the events that follow (`migrate`). One transaction stores a chunk, so each item is stored once,
//! wherever a call is interrupted.

mod chunk;
mod commands;
mod identities;
mod record;
mod store;

use std::sync::{Arc, atomic::AtomicBool};

use bucket_core::{error::Kind, server::transaction};
use bucket_runtime::{__ops::Engine, Result};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

pub(super) use self::{
    chunk::Chunk,
    record::{RECORDS, Record, Resumptions},
    store::refuse_keys,
};
use self::{chunk::ChunkKey, commands::Commands, store::StoreChunk};

/// How often a chunk is planned again without the items whose identities are there already. Others
/// may write them meanwhile.
const ROUNDS: usize = 5;

/// A call that moves items: where they go, and how far it has come.
pub(super) struct Transfer<S> {
    pub(super) engine: Engine,
    pub(super) record: Record,
    /// The state that the record holds.
    pub(super) state: S,
    /// Counts items that are left out, since their identities are already there. Without this they
    /// are an error.
    pub(super) leave_out: Option<fn(&mut S, usize)>,
}

impl<S: Serialize + DeserializeOwned> Transfer<S> {
    /// Stores a chunk, and the state after it.
    pub(super) async fn store(&mut self, chunk: Chunk, mut next: S) -> Result<()> {
        let mut chunk = Arc::new(chunk);
        for round in 0.. {
            if let Some(leave_out) = self.leave_out.filter(|_| round > 0) {
                let keys = &mut Arc::make_mut(&mut chunk).keys;
                let left_out = identities::leave_out_present(&self.engine.server, keys);
                leave_out(&mut next, left_out.await?);
            }
            let is_unique = |key: &ChunkKey| key.scope.spec.unique.is_some();
            let is_unique = chunk.keys.first().is_some_and(is_unique);
            let leaves_out = self.leave_out.is_some() && is_unique && round < ROUNDS;
            let store = StoreChunk {
                engine: self.engine.clone(),
                record: self.record.clone(),
                next: record::document(&self.engine.server, &next)?,
                chunk: Arc::clone(&chunk),
                commands: Commands::plan(&self.engine, &chunk.keys).await?,
                is_refused: AtomicBool::new(false),
                leaves_out,
            };
            if leaves_out && round == 0 && store.commands.is_none() {
                continue;
            }
            match transaction::run(&self.engine.server, store).await {
                Err(error) if leaves_out && error.is(&Kind::NotUnique) => {}
                stored => {
                    stored?;
                    break;
                }
            }
        }
        self.record.count_step();
        self.state = next;
        Ok(())
    }
}

/// A number for these bytes.
pub(super) fn hash(parts: &[&[u8]]) -> i64 {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize()[..8]);
    i64::from_le_bytes(first)
}

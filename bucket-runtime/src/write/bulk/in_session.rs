//! A load in the caller's session: one transaction, which stores all of its items or none.
//!
//! The append protocol stores the items of one key after the other, as it does for single appends
//! in a transaction: it reads where it would otherwise learn from a refusal, which aborts the
//! transaction.

use bucket_core::{error::Kind, protocol::command::IndexedScope, server::transaction::Attempt};
use futures_util::future::BoxFuture;
use mongodb::ClientSession;

use crate::{
    Result,
    write::{
        engine::{Batch, COMMAND_BYTES, Engine},
        item::{Entry, UntypedItem},
    },
};

/// How many keys (or time windows) a load in a session has at most. Each takes a round trip, and
/// the server ends a transaction after a minute.
const MAX_KEYS: usize = 1000;

/// The items of a load that belong to one transaction, by key.
pub(super) struct LoadInSession {
    engine: Engine,
    /// In the order of the prefixes of their ids.
    keys: Vec<(IndexedScope, Vec<Entry>)>,
    bytes: usize,
}

impl LoadInSession {
    pub(super) fn new(engine: Engine) -> Self {
        Self {
            engine,
            keys: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds an item; an error if the load cannot be stored with it.
    pub(super) fn add(&mut self, item: &dyn UntypedItem) -> Result<()> {
        let (scope, entry) = self.engine.entry(item)?;
        self.bytes += entry.size;
        let order = |(key, _): &(IndexedScope, _)| key.prefix.cmp(&scope.prefix);
        match self.keys.binary_search_by(order) {
            Ok(place) => self.keys[place].1.push(entry),
            Err(place) => self.keys.insert(place, (scope, vec![entry])),
        }
        if self.bytes <= COMMAND_BYTES && self.keys.len() <= MAX_KEYS {
            return Ok(());
        }
        let too_large = Kind::LoadTooLarge {
            bytes: COMMAND_BYTES,
            keys: MAX_KEYS,
        };
        Err(self.engine.server.target().error(too_large))
    }
}

impl Attempt for LoadInSession {
    /// How many items were not there before.
    type Output = u64;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<u64>> {
        Box::pin(async move {
            let mut stored = 0;
            for (scope, entries) in &self.keys {
                let mut batch = Batch::new(scope.clone(), entries.iter().cloned());
                // The unique index does not see two in one bucket.
                drop(batch.take_twins());
                self.engine.append(&mut batch, Some(&mut *session)).await?;
                stored += batch.count_stored();
            }
            Ok(stored)
        })
    }
}

//! A load in the caller's session: one transaction, which stores all of its items or none.
//!
//! The append protocol stores the items of one key after the other, as it does for single appends
//! in a transaction: it reads where it would otherwise learn from a refusal, which aborts the
//! transaction.

use std::collections::{BTreeMap, HashSet};

use bucket_core::{
    error::Kind,
    protocol::command::{IndexedScope, identity},
    server::transaction::Attempt,
    value::number::comparable,
};
use futures_util::future::BoxFuture;
use mongodb::ClientSession;

use crate::{
    Result,
    write::{
        appended::Appended,
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
    /// By the prefix of the key's ids.
    keys: BTreeMap<String, (IndexedScope, Vec<Entry>)>,
    /// The keys and identities of the items, where the struct has a `unique` field.
    identities: HashSet<Vec<String>>,
    bytes: usize,
}

impl LoadInSession {
    pub(super) fn new(engine: Engine) -> Self {
        Self {
            engine,
            keys: BTreeMap::new(),
            identities: HashSet::new(),
            bytes: 0,
        }
    }

    /// Adds an item, unless an earlier one has its identity; or an error if the load cannot be
    /// stored with it.
    pub(super) fn add(&mut self, item: &dyn UntypedItem) -> Result<()> {
        let (scope, entry) = self.engine.entry(item)?;
        if self.is_twin(&entry, &scope) {
            return Ok(());
        }
        self.bytes += entry.size;
        let key = self.keys.entry(scope.prefix.clone());
        (key.or_insert_with(|| (scope, Vec::new())).1).push(entry);
        if self.bytes <= COMMAND_BYTES && self.keys.len() <= MAX_KEYS {
            return Ok(());
        }
        let too_large = Kind::LoadTooLarge {
            bytes: COMMAND_BYTES,
            keys: MAX_KEYS,
        };
        Err(self.engine.server.target().error(too_large))
    }

    /// Whether an earlier item of the key has the item's identity: the unique index does not see
    /// two in one bucket.
    fn is_twin(&mut self, entry: &Entry, scope: &IndexedScope) -> bool {
        let unique = scope.spec.unique;
        let Some(identity) = unique.and_then(|field| identity(field, &entry.element)) else {
            return false;
        };
        let key = scope.parts.iter().map(|part| &part.value);
        let named = key.chain([identity]).map(comparable).collect();
        !self.identities.insert(named)
    }
}

impl Attempt for LoadInSession {
    /// How many items were not there before.
    type Output = u64;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<u64>> {
        Box::pin(async move {
            let mut stored = 0;
            for (scope, entries) in self.keys.values() {
                let mut batch = Batch::new(scope.clone(), entries.iter().cloned());
                self.engine.append(&mut batch, Some(&mut *session)).await?;
                let done = batch.done.iter();
                stored += done.filter(|done| done.1 == Appended::Stored).count();
            }
            Ok(stored as u64)
        })
    }
}

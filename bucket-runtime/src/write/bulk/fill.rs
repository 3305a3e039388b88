//! Fills the open buckets of many keys with one command.

use super::{key_items::KeyItems, load::Load};
use crate::{
    Bucket,
    protocol::command::Update,
    write::engine::{Batch, COMMAND_BYTES, Carried, Engine, NewestBucket, SendMode},
};

/// How many open buckets one command fills at most. A statement takes about 20 kB of memory until it is
/// answered, and larger commands are no faster.
const STATEMENTS: usize = 250;

impl<T: Bucket> KeyItems<T> {
    /// The items for which the key's open bucket has room by count, up to one that cannot be written as
    /// BSON; `None` if no bucket is known to be open, or no item is left.
    pub(super) fn for_open_bucket(&self, engine: &Engine) -> Option<Batch> {
        let NewestBucket::Open { room, .. } = self.newest_bucket else {
            return None;
        };
        let first = self.held.iter().take(room);
        let entries = first.map_while(|held| held.entry(engine, &self.scope).ok());
        let mut batch = Batch::new(self.scope.clone(), entries);
        batch.newest_bucket = self.newest_bucket.clone();
        (!self.held.is_empty()).then_some(batch)
    }
}

impl<T: Bucket> Load<T> {
    /// Fills the open buckets.
    pub(super) async fn fill(&self, keys: &mut [KeyItems<T>]) {
        loop {
            let mut sent: Vec<(&mut KeyItems<T>, Batch, Carried)> = Vec::new();
            let mut updates = Vec::new();
            let mut bytes = 0;
            for key_items in keys.iter_mut() {
                if sent.len() >= STATEMENTS {
                    break;
                }
                let Some(batch) = key_items.for_open_bucket(&self.engine) else {
                    continue;
                };
                if batch.is_empty() {
                    // The first item cannot be written as BSON; this reports why.
                    self.append(key_items.split_to(1)).await;
                    continue;
                }
                let statement = batch.statements(SendMode::WithOthers).ok();
                if let Some((update, carried)) = statement.and_then(|mut first| first.pop()) {
                    bytes += batch.bytes(carried.items);
                    if bytes > COMMAND_BYTES && !sent.is_empty() {
                        break;
                    }
                    updates.push(update);
                    sent.push((key_items, batch, carried));
                }
            }
            if sent.is_empty() || self.over().is_some() {
                return;
            }
            self.send(updates, sent).await;
        }
    }

    async fn send(&self, updates: Vec<Update>, sent: Vec<(&mut KeyItems<T>, Batch, Carried)>) {
        match self.engine.server.update_all(updates, false).await {
            Ok(results) => {
                for ((key_items, mut batch, carried), result) in sent.into_iter().zip(results) {
                    let items = carried.items;
                    let learned =
                        (self.engine).note_outcome(&mut batch, carried, result.map(|()| true));
                    let stored = batch.done.len() == items;
                    key_items.newest_bucket = batch.newest_bucket;
                    if stored {
                        key_items.held.drain(..items);
                        self.stored(items);
                    } else if let Err(error) = &learned
                        && error.is_maybe_stored()
                    {
                        // The items may be stored, so they must not be sent again.
                        self.refused(key_items.held.drain(..items), error);
                        self.give_up(error);
                    } else if learned.is_err() || batch.doubtful || batch.missing.is_some() {
                        key_items.newest_bucket = NewestBucket::MustRead;
                        self.append(key_items.split_to(items)).await;
                    }
                }
            }
            Err(error) => {
                let error = self.failed(error);
                if error.is_refusal() {
                    // One item is too large for any command. The append protocol finds out which.
                    for (key_items, _, carried) in sent {
                        key_items.newest_bucket = NewestBucket::MustRead;
                        self.append(key_items.split_to(carried.items)).await;
                    }
                    return;
                }
                for (key_items, _, carried) in sent {
                    let error = error.clone().with_key(&key_items.scope.label());
                    self.refused(key_items.held.drain(..carried.items), &error);
                }
                self.give_up(&error);
            }
        }
    }
}

//! Fills the open buckets of many keys with one command.

use bucket_core::protocol::command::Update;
use mongodb::error::Error as DriverError;

use super::{key_items::KeyItems, load::Load};
use crate::write::engine::{Batch, COMMAND_BYTES, Carried, NewestBucket, SendMode};

/// How many open buckets one command fills at most. A statement takes about 20 kB of memory until
/// it is answered, and larger commands are no faster.
const BUCKETS_PER_COMMAND: usize = 250;

/// A key whose open bucket is filled, with what a statement carries of a batch.
type Fill<'k> = (&'k mut KeyItems, Batch, Carried);

impl Load {
    /// Fills the open buckets.
    pub(super) async fn fill(&self, keys: &mut [KeyItems]) {
        loop {
            let mut fills: Vec<Fill<'_>> = Vec::new();
            let mut updates = Vec::new();
            let mut bytes = 0;
            let mut keys = keys
                .iter_mut()
                .filter(|key_items| !key_items.indexes.is_empty());
            while fills.len() < BUCKETS_PER_COMMAND
                && let Some(key_items) = keys.next()
            {
                let NewestBucket::Open { room, .. } = key_items.newest_bucket else {
                    continue;
                };
                // Up to one that cannot be written as BSON.
                let first = key_items.indexes.iter().take(room);
                let entries = first.map_while(|index| key_items.entry(&self.engine, *index).ok());
                let mut batch = Batch::new(key_items.scope.clone(), entries);
                batch.newest_bucket = key_items.newest_bucket.clone();
                if batch.is_empty() {
                    // The bucket is empty, and gets sealed; or the first item cannot be written as
                    // BSON, and this reports why.
                    key_items.newest_bucket = NewestBucket::MustRead;
                    self.append(key_items.take_first(1)).await;
                    continue;
                }
                let statement = batch.statements(SendMode::WithOthers).ok();
                if let Some((update, carried)) = statement.and_then(|mut first| first.pop()) {
                    bytes += batch.sizes().take(carried.items).sum::<usize>();
                    if bytes > COMMAND_BYTES && !fills.is_empty() {
                        break;
                    }
                    updates.push(update);
                    fills.push((key_items, batch, carried));
                }
            }
            if fills.is_empty() || self.given_up().is_some() {
                return;
            }
            self.send(updates, fills).await;
        }
    }

    async fn send(&self, updates: Vec<Update>, fills: Vec<Fill<'_>>) {
        let target = self.engine.server.target();
        let error = match target.update_all(updates, false).await {
            Ok(results) => {
                for (fill, result) in fills.into_iter().zip(results) {
                    self.note_fill(fill, result).await;
                }
                return;
            }
            Err(error) => error,
        };
        for (key_items, _, carried) in fills {
            if error.is_refusal() {
                // One item is too large for any command. The append protocol finds out which.
                key_items.newest_bucket = NewestBucket::MustRead;
                self.append(key_items.take_first(carried.items)).await;
            } else {
                let error = error.clone().with_key(&key_items.scope.label());
                self.record_refused(key_items.indexes.drain(..carried.items), &error);
            }
        }
        if !error.is_refusal() {
            self.give_up(&error);
        }
    }

    /// Records the answer to one statement.
    async fn note_fill(&self, fill: Fill<'_>, result: Result<(), DriverError>) {
        let (key_items, mut batch, carried) = fill;
        let (items, result) = (carried.items, result.map(|()| true));
        let noted = (self.engine).note_outcome(&mut batch, carried, result, SendMode::WithOthers);
        let is_stored = batch.done.len() == items;
        let must_be_sent_alone = noted.is_err() || batch.must_be_sent_alone();
        key_items.newest_bucket = batch.newest_bucket;
        match noted {
            _ if is_stored => {
                key_items.indexes.drain(..items);
                self.record_stored(items);
            }
            // The items may be stored, so they must not be sent again.
            Err(error) if error.is_maybe_stored() => {
                self.record_refused(key_items.indexes.drain(..items), &error);
                self.give_up(&error);
            }
            _ if must_be_sent_alone => {
                key_items.newest_bucket = NewestBucket::MustRead;
                self.append(key_items.take_first(items)).await;
            }
            _ => {}
        }
    }
}

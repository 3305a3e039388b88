//! Fills the open buckets of many keys with one command.

use super::{key_items::KeyItems, load::Load, store::STATEMENTS};
use crate::{
    Bucket,
    write::engine::{Batch, COMMAND_BYTES, NewestBucket, SendMode, Statement},
};

impl<T: Bucket> Load<T> {
    /// Fills the open buckets.
    pub(super) async fn fill(&self, keys: &mut [KeyItems<T>]) {
        loop {
            let mut statements: Vec<(&mut KeyItems<T>, Batch, Statement)> = Vec::new();
            let mut bytes = 0;
            for key_items in keys.iter_mut() {
                let NewestBucket::Open { room, .. } = key_items.newest_bucket else {
                    continue;
                };
                if key_items.held.is_empty() {
                    continue;
                }
                if statements.len() >= STATEMENTS {
                    break;
                }
                let first = key_items.held.iter().take(room);
                let entries =
                    first.map_while(|held| held.entry(&self.engine, &key_items.scope).ok());
                let entries: Vec<_> = entries.collect();
                if entries.is_empty() {
                    // The first item cannot be written as BSON; this reports why.
                    self.append(key_items.split_to(1)).await;
                    continue;
                }
                let mut batch = Batch::new(key_items.scope.clone(), entries);
                batch.newest_bucket = key_items.newest_bucket.clone();
                let statement = batch.statements(SendMode::WithOthers).ok();
                if let Some(statement) = statement.and_then(|mut first| first.pop()) {
                    bytes += batch.bytes(statement.items);
                    if bytes > COMMAND_BYTES && !statements.is_empty() {
                        break;
                    }
                    statements.push((key_items, batch, statement));
                }
            }
            if statements.is_empty() || self.over().is_some() {
                return;
            }
            self.send(statements).await;
        }
    }

    async fn send(&self, statements: Vec<(&mut KeyItems<T>, Batch, Statement)>) {
        let updates = statements
            .iter()
            .map(|(_, _, statement)| statement.update.clone());
        match self
            .engine
            .server
            .update_all(updates.collect(), false)
            .await
        {
            Ok(results) => {
                for ((key_items, mut batch, statement), result) in
                    statements.into_iter().zip(results)
                {
                    let carried = statement.items;
                    let learned =
                        (self.engine).note_outcome(&mut batch, statement, result.map(|()| true));
                    let stored = batch.done.len() == carried;
                    key_items.newest_bucket = batch.newest_bucket;
                    if stored {
                        key_items.held.drain(..carried);
                        self.stored(carried);
                    } else if let Err(error) = &learned
                        && error.is_maybe_stored()
                    {
                        // It must not be sent again.
                        self.refused(key_items.held.drain(..carried), error);
                        self.give_up(error);
                    } else if learned.is_err() || batch.doubtful || batch.missing.is_some() {
                        key_items.newest_bucket = NewestBucket::MustRead;
                        self.append(key_items.split_to(carried)).await;
                    }
                }
            }
            Err(error) => {
                let error = self.failed(error);
                if error.is_refusal() {
                    // One item is too large for any command. The append protocol finds out which.
                    for (key_items, _, statement) in statements {
                        key_items.newest_bucket = NewestBucket::MustRead;
                        self.append(key_items.split_to(statement.items)).await;
                    }
                    return;
                }
                for (key_items, _, statement) in statements {
                    let error = error.clone().with_key(&key_items.scope.label());
                    self.refused(key_items.held.drain(..statement.items), &error);
                }
                self.give_up(&error);
            }
        }
    }
}

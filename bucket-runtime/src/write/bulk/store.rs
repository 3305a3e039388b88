//! Stores the buffered items, in as few and as large commands as possible.

use std::collections::VecDeque;

use mongodb::error::Error as DriverError;

use super::{
    key_items::{Held, KeyItems},
    load::Load,
    look::look,
    measure::documents,
    plan::PlannedBucket,
};
use crate::{
    Bucket, Error,
    error::{duplicate_index, maybe_stored},
    protocol::command::KeyScope,
    schema::{
        id,
        names::{OPEN_INDEX, UNIQUE_INDEX},
        spec::Ordinal,
    },
    server::call,
    write::engine::NewestBucket,
};

/// How many documents or statements one command carries at most.
pub(super) const STATEMENTS: usize = 1000;

/// How many keys are stored at once. What is known of each while it is stored takes more memory than a few
/// buffered items.
const AT_ONCE: usize = 4 * STATEMENTS;

/// How often a key is tried in whole buckets before the append protocol takes over, which waits longer
/// and longer for other writers.
const ROUNDS: usize = 4;

/// Buckets to write, each with the index of its key.
pub(super) type PlannedBuckets<T> = VecDeque<(usize, PlannedBucket<T>)>;

impl<T: Bucket> Load<T> {
    /// Stores all items of these keys.
    pub(super) async fn store(&self, keys: Vec<Vec<Held<T>>>) {
        let mut keys = keys.into_iter().peekable();
        while keys.peek().is_some() {
            let some = keys.by_ref().take(AT_ONCE);
            let with_scopes = some.filter_map(|held| KeyItems::new(held, self.engine.index.get()));
            self.store_some(with_scopes.collect()).await;
        }
    }

    async fn store_some(&self, mut keys: Vec<KeyItems<T>>) {
        for _ in 0..ROUNDS {
            keys.retain(|key_items| !key_items.held.is_empty());
            if keys.is_empty() || self.over().is_some() {
                break;
            }
            // Numbers are read beforehand; with times a taken id is rare, and a refusal shows it.
            let is_numbered = T::SPEC.id.ordinal == Ordinal::Number;
            if let Err(error) = look(&self.engine, &mut keys, is_numbered).await {
                self.give_up(&error);
            }
            self.fill(&mut keys).await;
            self.write(&mut keys).await;
        }
        for key_items in keys {
            self.append(key_items).await;
        }
    }

    pub(super) fn failed(&self, error: DriverError) -> Error {
        self.engine.server.target().write_error(error)
    }

    /// Writes further buckets as a whole, for keys without an open bucket.
    async fn write(&self, keys: &mut [KeyItems<T>]) {
        let mut chunks = PlannedBuckets::new();
        for (at, key_items) in keys.iter_mut().enumerate() {
            if key_items.held.is_empty()
                || !matches!(key_items.newest_bucket, NewestBucket::Closed { .. })
            {
                continue;
            }
            match key_items.chunks(true) {
                Some(of_key) => chunks.extend(of_key.into_iter().map(|chunk| (at, chunk))),
                None => self.append(key_items.split_to(key_items.held.len())).await,
            }
        }
        while !chunks.is_empty() && self.over().is_none() {
            self.insert(keys, &mut chunks).await;
        }
        for (at, chunk) in chunks {
            keys[at].take_back([chunk]);
        }
    }

    /// Sends the next command with new buckets, and handles the first refusal; the buckets after the
    /// refused one remain.
    async fn insert(&self, keys: &mut [KeyItems<T>], chunks: &mut PlannedBuckets<T>) {
        let documents = documents(keys, chunks);
        call::bytes(|| documents.iter().map(|it| it.as_bytes().len()).sum());
        let sent = documents.len();
        if sent == 0 {
            if let Some((at, chunk)) = chunks.pop_front() {
                self.item_by_item(keys, at, chunk, chunks).await;
            }
            return;
        }
        let results = match self.engine.server.insert_all(&documents, true).await {
            Ok(results) => results,
            Err(error) => {
                let error = self.failed(error);
                for (at, chunk) in chunks.drain(..sent) {
                    let error = error.clone().with_key(&keys[at].scope.label());
                    self.refused(chunk.held, &error);
                }
                self.give_up(&error);
                return;
            }
        };
        let stored = results.iter().take_while(|result| result.is_ok()).count();
        self.stored(
            chunks
                .drain(..stored)
                .map(|(_, chunk)| chunk.held.len())
                .sum(),
        );
        let Some(Err(error)) = results.into_iter().nth(stored) else {
            return;
        };
        let Some((at, chunk)) = chunks.pop_front() else {
            return;
        };
        match (duplicate_index(&error), T::SPEC.id.ordinal) {
            (Some("_id_"), Ordinal::Seconds | Ordinal::Millis) => {
                self.with_another_id(keys, at, chunk, chunks).await;
            }
            // The window already has buckets, or another writer has opened one.
            (Some("_id_"), Ordinal::Window { .. }) => {
                take_back(keys, at, chunk, chunks);
                match self.engine.server.last_bucket(&keys[at].scope, None).await {
                    Ok(last) => keys[at].newest_bucket = NewestBucket::by_last(last),
                    Err(error) => self.give_up(&error),
                }
            }
            // Some item is already there. The append protocol looks up which ones.
            (Some(UNIQUE_INDEX), _) if T::SPEC.unique.is_some() => {
                take_back(keys, at, chunk, chunks);
                let items = keys[at].held.len();
                self.append(keys[at].split_to(items)).await;
            }
            // Another writer has opened a bucket.
            (Some("_id_" | OPEN_INDEX), _) => {
                take_back(keys, at, chunk, chunks);
            }
            // The bucket may be stored, so it must not be sent again.
            _ if maybe_stored(&error, self.engine.server.may_be_sharded()) => {
                let error = self.failed(error).with_key(&keys[at].scope.label());
                self.refused(chunk.held, &error);
                self.give_up(&error);
            }
            _ => self.item_by_item(keys, at, chunk, chunks).await,
        }
    }

    /// Leaves a bucket that cannot be written as a whole to the append protocol, which finds the item
    /// that causes the refusal. Without that item, the others leave room for later ones.
    async fn item_by_item(
        &self,
        keys: &mut [KeyItems<T>],
        at: usize,
        chunk: PlannedBucket<T>,
        chunks: &mut PlannedBuckets<T>,
    ) {
        if T::SPEC.id.ordinal.counts() {
            take_back_others(keys, at, chunks);
        }
        self.append(keys[at].with(chunk.held)).await;
    }

    /// Puts a bucket back whose id is taken by another bucket of the same moment. The later ids of that
    /// moment count on from there.
    async fn with_another_id(
        &self,
        keys: &mut [KeyItems<T>],
        at: usize,
        chunk: PlannedBucket<T>,
        chunks: &mut PlannedBuckets<T>,
    ) {
        let key_items = &mut keys[at];
        let opening_id = chunk
            .held
            .first()
            .and_then(|held| held.opening_id(&key_items.scope));
        let opening_id = opening_id.unwrap_or_default();
        chunks.push_front((at, chunk));
        let moment = KeyScope::ids_of_moment(&opening_id);
        let mut last = match self
            .engine
            .server
            .last_id(&key_items.scope, moment, None)
            .await
        {
            Ok(last) => last,
            Err(error) => {
                return self.give_up(&error);
            }
        };
        let of_moment = (chunks.iter_mut())
            .take_while(|(of, chunk)| *of == at && chunk.id.starts_with(&opening_id))
            .map(|(_, chunk)| chunk);
        for chunk in of_moment {
            match id::next_suffix(&opening_id, last.as_deref()) {
                Ok(Some(id)) => {
                    key_items.newest_bucket.rename(&chunk.id, &id);
                    chunk.id.clone_from(&id);
                    last = Some(id);
                }
                // The append protocol reports the error.
                _ => {
                    let held = std::mem::take(&mut chunk.held);
                    self.append(key_items.with(held)).await;
                }
            }
        }
        chunks.retain(|(_, chunk)| !chunk.held.is_empty());
    }
}

/// Puts a bucket's items back, with those of the key's next buckets.
fn take_back<T: Bucket>(
    keys: &mut [KeyItems<T>],
    at: usize,
    chunk: PlannedBucket<T>,
    chunks: &mut PlannedBuckets<T>,
) {
    keys[at].take_back([chunk]);
    take_back_others(keys, at, chunks);
}

/// Puts the items of the key's next buckets back.
fn take_back_others<T: Bucket>(
    keys: &mut [KeyItems<T>],
    at: usize,
    chunks: &mut PlannedBuckets<T>,
) {
    while chunks.front().is_some_and(|(of, _)| *of == at) {
        keys[at].take_back(chunks.pop_front().map(|(_, chunk)| chunk));
    }
}

//! Stores the buffered items, in as few and as large commands as possible.

use std::{collections::VecDeque, mem, sync::Arc};

use bucket_core::{
    error::{duplicate_index, maybe_stored},
    protocol::command::KeyScope,
    schema::{
        id,
        names::{OPEN_INDEX, UNIQUE_INDEX},
        spec::Ordinal,
    },
};
use mongodb::error::Error as DriverError;

use super::{key_items::KeyItems, load::Load, plan::PlannedBuckets};
use crate::write::{engine::NewestBucket, item::UntypedItems};

/// How many documents, or keys of a read, one command carries at most.
pub(super) const DOCUMENTS_PER_COMMAND: usize = 1000;

/// How many keys are stored at once. What is known of each while it is stored takes more memory
/// than a few buffered items.
const KEYS_AT_ONCE: usize = 4 * DOCUMENTS_PER_COMMAND;

/// How often a key is tried in whole buckets before the append protocol takes over, which waits
/// longer and longer for other writers.
const ROUNDS: usize = 4;

impl Load {
    /// Stores all items of these keys.
    pub(super) async fn store(&self, all: Arc<dyn UntypedItems>, keys: Vec<Vec<usize>>) {
        let mut keys = keys.into_iter().peekable();
        while keys.peek().is_some() {
            let (some, open) = (keys.by_ref().take(KEYS_AT_ONCE), self.engine.open);
            let some = some.map(|indexes| KeyItems::new(all.clone(), indexes, open));
            self.store_some(some.collect()).await;
        }
    }

    async fn store_some(&self, mut keys: Vec<KeyItems>) {
        for _ in 0..ROUNDS {
            keys.retain(|key_items| !key_items.indexes.is_empty());
            let (Some(first), None) = (keys.first(), self.given_up()) else {
                break;
            };
            // Numbers are read beforehand; with times a taken id is rare, and a refusal shows it.
            let is_numbered = first.scope.spec.id.ordinal == Ordinal::Number;
            let found = keys.iter_mut();
            let found = found.map(|key_items| (&key_items.scope, &mut key_items.newest_bucket));
            let found = self
                .engine
                .find_newest_buckets(found.collect(), is_numbered);
            if let Err(error) = found.await {
                self.give_up(&error);
            }
            self.fill(&mut keys).await;
            self.write(&mut keys).await;
        }
        for key_items in keys {
            self.append(key_items).await;
        }
    }

    /// Writes further buckets as a whole, for keys without an open bucket.
    async fn write(&self, keys: &mut [KeyItems]) {
        let mut buckets = VecDeque::new();
        for (at, key_items) in keys.iter_mut().enumerate() {
            if key_items.indexes.is_empty()
                || !matches!(key_items.newest_bucket, NewestBucket::Closed { .. })
            {
                continue;
            }
            match key_items.plan_buckets() {
                Some(planned) => buckets.extend(planned.into_iter().map(|bucket| (at, bucket))),
                None => self.append(key_items.take_all()).await,
            }
        }
        let mut planned = PlannedBuckets { keys, buckets };
        while !planned.buckets.is_empty() && self.given_up().is_none() {
            self.insert(&mut planned).await;
        }
        while let Some((at, _)) = planned.buckets.front() {
            planned.take_back(*at);
        }
    }

    /// Sends the next command with new buckets, and handles the first refusal; the buckets after
    /// the refused one remain.
    async fn insert(&self, planned: &mut PlannedBuckets<'_>) {
        let documents = planned.next_documents();
        if documents.is_empty() {
            return self.append_bucket(planned).await;
        }
        let results = match self.engine.server.insert_all(&documents, true).await {
            Ok(results) => results,
            Err(error) => {
                let error = self.engine.server.target().write_error(error);
                for (at, bucket) in planned.buckets.drain(..documents.len()) {
                    let error = error.clone().with_key(&planned.keys[at].scope.label());
                    self.record_refused(bucket.indexes, &error);
                }
                return self.give_up(&error);
            }
        };
        let stored = results.iter().take_while(|result| result.is_ok()).count();
        let mut items = 0;
        for (at, bucket) in planned.buckets.drain(..stored) {
            items += bucket.indexes.len();
            let key_items = &mut planned.keys[at];
            let room = key_items.scope.capacity() - bucket.indexes.len();
            // The key's next items go there.
            if room > 0 && !bucket.sealed {
                key_items.newest_bucket =
                    NewestBucket::with_room(&bucket.id, room, bucket.oversize);
            }
        }
        self.record_stored(items);
        if let Some(Err(error)) = results.into_iter().nth(stored) {
            self.handle_refusal(planned, error).await;
        }
    }

    /// Decides how the items of the next bucket are stored, which was refused.
    async fn handle_refusal(&self, planned: &mut PlannedBuckets<'_>, error: DriverError) {
        bucket_core::reached!("a load is refused by {:?}", duplicate_index(&error));
        let (at, _) = planned.buckets[0];
        let spec = planned.keys[at].scope.spec;
        match (duplicate_index(&error), spec.id.ordinal) {
            (Some("_id_"), Ordinal::Seconds | Ordinal::Millis) => {
                self.rename_buckets(planned).await;
            }
            // The window already has buckets, or another writer has opened one.
            (Some("_id_"), Ordinal::Window { .. }) => {
                planned.take_back(at);
                let key_items = &mut planned.keys[at];
                match self.engine.server.last_bucket(&key_items.scope, None).await {
                    Ok(last) => key_items.newest_bucket = last,
                    Err(error) => self.give_up(&error),
                }
            }
            // Some item is already there. The append protocol looks up which ones.
            (Some(UNIQUE_INDEX), _) if spec.unique.is_some() => {
                planned.take_back(at);
                self.append(planned.keys[at].take_all()).await;
            }
            // Another writer has opened a bucket.
            (Some("_id_" | OPEN_INDEX), _) => planned.take_back(at),
            // The bucket may be stored, so it must not be sent again.
            _ if maybe_stored(&error, self.engine.server.may_be_sharded()) => {
                let target = self.engine.target_of(&planned.keys[at].scope);
                let error = target.write_error(error);
                let refused = planned.buckets.pop_front();
                let refused = refused.into_iter().flat_map(|(_, bucket)| bucket.indexes);
                self.record_refused(refused, &error);
                self.give_up(&error);
            }
            _ => self.append_bucket(planned).await,
        }
    }

    /// Leaves the next bucket, which cannot be written as a whole, to the append protocol. That one
    /// finds the item that causes the refusal. Without that item, the others leave room for later
    /// ones.
    async fn append_bucket(&self, planned: &mut PlannedBuckets<'_>) {
        let Some((at, bucket)) = planned.buckets.pop_front() else {
            return;
        };
        if planned.keys[at].scope.spec.id.ordinal.counts() {
            planned.take_back(at);
        }
        let key_items = &mut planned.keys[at];
        key_items.newest_bucket = NewestBucket::MustRead;
        self.append(key_items.with_items(bucket.indexes)).await;
    }

    /// Renames the next bucket, whose id is taken by another bucket of the same moment. The later
    /// ids of that moment count on from there.
    async fn rename_buckets(&self, planned: &mut PlannedBuckets<'_>) {
        let PlannedBuckets { keys, buckets } = planned;
        let (at, bucket) = &buckets[0];
        let (at, key_items) = (*at, &keys[*at]);
        let opening_id = key_items.opening_id(bucket.indexes[0]).unwrap_or_default();
        let moment = KeyScope::ids_of_moment(&opening_id);
        let last = (self.engine.server).last_id(&key_items.scope, moment, None);
        let mut last = match last.await {
            Ok(last) => last,
            Err(error) => return self.give_up(&error),
        };
        let of_moment = (buckets.iter_mut())
            .take_while(|(of, bucket)| *of == at && bucket.id.starts_with(&opening_id));
        for (_, bucket) in of_moment {
            match id::next_suffix(&opening_id, last.as_deref()) {
                Ok(Some(id)) => {
                    bucket.id.clone_from(&id);
                    last = Some(id);
                }
                // The append protocol reports the error.
                _ => {
                    let indexes = mem::take(&mut bucket.indexes);
                    self.append(key_items.with_items(indexes)).await;
                }
            }
        }
        buckets.retain(|(_, bucket)| !bucket.indexes.is_empty());
    }
}

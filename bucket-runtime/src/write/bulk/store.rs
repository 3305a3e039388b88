//! Storing what was held back, in as few and as large commands as can be.

use std::collections::{HashMap, VecDeque};

use futures_util::{StreamExt, stream};
use mongodb::{bson::Bson, error::Error as DriverError};

use super::{lane::Lane, load::Load, measure::documents, plan::Chunk};
use crate::{
    Bucket, Error, Result,
    error::{Kind, duplicate_index, maybe_stored},
    protocol::command::KeyScope,
    schema::{
        id,
        key::Key,
        names::{OPEN_INDEX, UNIQUE_INDEX},
        spec::Ordinal,
    },
    server::current_index::IndexDeadline,
    write::engine::Tail,
};

/// How many documents or statements one command carries at most.
pub(super) const STATEMENTS: usize = 1000;

/// How many reads are under way at most.
const READS: usize = 8;

/// How often a key is written in whole buckets, before it is left to the append protocol, which
/// waits longer and longer for others.
const ROUNDS: usize = 4;

/// Buckets that are to be written, each with its place among the lanes.
pub(super) type Chunks<T> = VecDeque<(usize, Chunk<T>)>;

impl<T: Bucket> Load<T> {
    /// Stores all items of these keys.
    pub(super) async fn store(&self, mut lanes: Vec<Lane<T>>) {
        for _ in 0..ROUNDS {
            lanes.retain(|lane| !lane.held.is_empty());
            if lanes.is_empty() || self.over().is_some() {
                break;
            }
            if let Err(error) = self.look(&mut lanes).await {
                self.give_up(&error);
            }
            self.fill(&mut lanes).await;
            self.write(&mut lanes).await;
        }
        for lane in lanes {
            self.append(lane).await;
        }
    }

    /// Finds out how the last bucket is of those keys of which that is not known.
    async fn look(&self, lanes: &mut [Lane<T>]) -> Result<()> {
        for lanes in lanes.chunks_mut(STATEMENTS) {
            let mut deadline = IndexDeadline::default();
            while let Err(error) = self.look_for_open(lanes).await {
                if !error.is(&Kind::MissingIndex) {
                    return Err(error);
                }
                // Another process changes the capacity.
                (self
                    .engine
                    .index
                    .wait(const { &T::SPEC }, &mut deadline, error))
                .await?;
            }
        }
        let mut reads = Vec::new();
        for (at, lane) in lanes.iter_mut().enumerate() {
            if lane.tail != Tail::Shut {
                continue;
            }
            // With a time ordinal, and in a window, an id that is taken is found out when it is
            // refused: it seldom is.
            lane.tail = Tail::Full { last: None };
            if T::SPEC.id.ordinal == Ordinal::Number {
                let (server, scope) = (self.engine.server.clone(), lane.scope.clone());
                reads.push(async move { (at, server.last_bucket(&scope, None).await) });
            }
        }
        let mut reads = stream::iter(reads).buffer_unordered(READS);
        while let Some((at, last)) = reads.next().await {
            let last = last.map_err(|error| self.failed(error))?;
            lanes[at].tail = Tail::by_last(last);
        }
        Ok(())
    }

    async fn look_for_open(&self, lanes: &mut [Lane<T>]) -> Result<()> {
        let mut unknown = HashMap::new();
        for lane in lanes {
            lane.scope.open = self.engine.index.get();
            if lane.tail == Tail::Look {
                unknown.insert(lane.scope.prefix.clone(), lane);
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let scopes: Vec<_> = unknown.values().map(|lane| &lane.scope).collect();
        let open = self.engine.server.open_buckets(&scopes).await;
        for (key, open) in open.map_err(|error| self.failed(error))? {
            let prefix = prefix::<T>(key).unwrap_or_default();
            let Some(lane) = unknown.remove(&prefix) else {
                continue;
            };
            // Of one with another id, the append protocol says what is wrong with it.
            if let Ok(tail) = Tail::by_open(open, &lane.scope) {
                lane.tail = tail;
            }
        }
        for lane in unknown.into_values() {
            lane.tail = Tail::Shut;
        }
        Ok(())
    }

    pub(super) fn failed(&self, error: DriverError) -> Error {
        Error::write(error, self.engine.server.name())
    }

    /// Writes further buckets as a whole, where nothing is open.
    async fn write(&self, lanes: &mut [Lane<T>]) {
        let mut chunks = Chunks::new();
        for (at, lane) in lanes.iter_mut().enumerate() {
            if lane.held.is_empty() || !matches!(lane.tail, Tail::Full { .. }) {
                continue;
            }
            match lane.chunks() {
                Some(of_lane) => chunks.extend(of_lane.into_iter().map(|chunk| (at, chunk))),
                None => self.append(lane.split_to(lane.held.len())).await,
            }
        }
        while !chunks.is_empty() && self.over().is_none() {
            self.insert(lanes, &mut chunks).await;
        }
        for (at, chunk) in chunks {
            lanes[at].take_back([chunk]);
        }
    }

    /// Sends the next command with new buckets, and deals with the first one that is refused; those
    /// behind that one remain.
    async fn insert(&self, lanes: &mut [Lane<T>], chunks: &mut Chunks<T>) {
        let documents = documents(lanes, chunks);
        let sent = documents.len();
        if sent == 0 {
            if let Some((at, chunk)) = chunks.pop_front() {
                self.item_by_item(lanes, at, chunk, chunks).await;
            }
            return;
        }
        let results = match self.engine.server.insert_all(&documents, true).await {
            Ok(results) => results,
            Err(error) => {
                let error = self.failed(error);
                for (at, chunk) in chunks.drain(..sent) {
                    let error = error.clone().with_key(&lanes[at].scope.label());
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
                self.with_another_id(lanes, at, chunk, chunks).await;
            }
            // The window has buckets already, or another writer has opened one.
            (Some("_id_"), Ordinal::Window { .. }) => {
                take_back(lanes, at, chunk, chunks);
                match self.engine.server.last_bucket(&lanes[at].scope, None).await {
                    Ok(last) => lanes[at].tail = Tail::by_last(last),
                    Err(error) => self.give_up(&self.failed(error)),
                }
            }
            // Some item is there already. The append protocol looks up which ones are.
            (Some(UNIQUE_INDEX), _) if T::SPEC.unique.is_some() => {
                take_back(lanes, at, chunk, chunks);
                let items = lanes[at].held.len();
                self.append(lanes[at].split_to(items)).await;
            }
            // Another writer has opened a bucket.
            (Some("_id_" | OPEN_INDEX), _) => {
                take_back(lanes, at, chunk, chunks);
            }
            // It must not be sent again.
            _ if maybe_stored(&error) => {
                let error = self.failed(error).with_key(&lanes[at].scope.label());
                self.refused(chunk.held, &error);
                self.give_up(&error);
            }
            _ => self.item_by_item(lanes, at, chunk, chunks).await,
        }
    }

    /// Leaves a bucket that cannot be written as a whole to the append protocol, which finds out
    /// which item is to blame. Without that one, the others leave room for those behind them.
    async fn item_by_item(
        &self,
        lanes: &mut [Lane<T>],
        at: usize,
        chunk: Chunk<T>,
        chunks: &mut Chunks<T>,
    ) {
        if T::SPEC.id.ordinal.counts() {
            take_back_others(lanes, at, chunks);
        }
        self.append(lanes[at].with(chunk.held)).await;
    }

    /// Puts a bucket back whose id is taken by one that began at the same moment. Those behind it
    /// of that moment count on from it.
    async fn with_another_id(
        &self,
        lanes: &mut [Lane<T>],
        at: usize,
        chunk: Chunk<T>,
        chunks: &mut Chunks<T>,
    ) {
        let lane = &mut lanes[at];
        let base = chunk.held.first().and_then(|held| held.base(&lane.scope));
        let base = base.unwrap_or_default();
        chunks.push_front((at, chunk));
        let moment = KeyScope::ids_of_moment(&base);
        let mut last = match self.engine.server.last_id(&lane.scope, moment, None).await {
            Ok(last) => last,
            Err(error) => {
                return self.give_up(&Error::read(error, self.engine.server.name()));
            }
        };
        let of_moment = (chunks.iter_mut())
            .take_while(|(of, chunk)| *of == at && chunk.id.starts_with(&base))
            .map(|(_, chunk)| chunk);
        for chunk in of_moment {
            match id::next_suffix(&base, last.as_deref()) {
                Ok(Some(id)) => {
                    lane.tail.rename(&chunk.id, &id);
                    chunk.id.clone_from(&id);
                    last = Some(id);
                }
                // The append protocol says what is wrong.
                _ => {
                    let held = std::mem::take(&mut chunk.held);
                    self.append(lane.with(held)).await;
                }
            }
        }
        chunks.retain(|(_, chunk)| !chunk.held.is_empty());
    }
}

/// Puts a bucket back into its lane, with those of the key that come next.
fn take_back<T: Bucket>(lanes: &mut [Lane<T>], at: usize, chunk: Chunk<T>, chunks: &mut Chunks<T>) {
    lanes[at].take_back([chunk]);
    take_back_others(lanes, at, chunks);
}

/// Puts those buckets of a key back into its lane that come next.
fn take_back_others<T: Bucket>(lanes: &mut [Lane<T>], at: usize, chunks: &mut Chunks<T>) {
    while chunks.front().is_some_and(|(of, _)| *of == at) {
        lanes[at].take_back(chunks.pop_front().map(|(_, chunk)| chunk));
    }
}

/// What the ids begin with of the key, or of the window, that these stored values name.
fn prefix<T: Bucket>(mut key: Vec<Bson>) -> Option<String> {
    let window = key.split_off(T::SPEC.key.len()).pop();
    let window = window.and_then(|start| start.as_datetime().copied());
    let key = T::Key::from_values(key).ok()?;
    let scope = KeyScope::new(const { &T::SPEC }, T::Key::parts(key.borrowed()));
    Some(scope.at(window).prefix)
}

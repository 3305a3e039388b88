//! The commands that store items of many keys in a collection to which nobody else writes.

use bucket_core::{
    protocol::{
        command::{IndexedScope, Update, twins},
        newest_bucket::NewestBucket,
        next_id::NextIds,
        pack::packs,
        whole_bucket::{Summary, WholeBucket},
    },
    value::element::raw,
};
use bucket_runtime::{
    __ops::{Batch, COMMAND_BYTES, Engine, Entry},
    Result,
};
use mongodb::bson::RawDocumentBuf;

use super::chunk::ChunkKey;

/// One command that fills open buckets, in order, and one with further buckets. If somebody else
/// has written to the collection since they were planned, the server refuses them.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Updates that fill open buckets.
    pub(super) fills: Vec<Update>,
    /// New buckets, each with all its items.
    pub(super) buckets: Vec<RawDocumentBuf>,
    /// The bytes of the items in `fills`.
    filled_bytes: usize,
}

impl Commands {
    /// Plans them by the newest bucket of each key. One round trip per thousand keys reads those
    /// that are not known. Where ids count up, it takes two more per hundred keys without an open
    /// bucket, and on a cluster one for each of them. `None` if some item can only be stored by the
    /// append protocol.
    pub(super) async fn plan(engine: &Engine, keys: &[ChunkKey]) -> Result<Option<Self>> {
        let newest = keys.iter().map(|key| match key.is_new {
            true => NewestBucket::Closed { last: None },
            false => NewestBucket::MustRead,
        });
        let mut newest = Vec::from_iter(newest);
        // One more read for a single key is worth it, since its last buckets may be of the next
        // item's moment.
        let is_single = keys.iter().filter(|key| !key.is_new).count() == 1;
        let counts = |key: &ChunkKey| key.scope.spec.id.ordinal.counts();
        let reads_last = is_single || keys.first().is_some_and(counts);
        let unknown = keys.iter().map(|key| &key.scope).zip(&mut newest);
        (engine.find_newest_buckets(unknown.collect(), reads_last)).await?;
        let mut commands = Self::default();
        let mut keys = keys.iter().zip(newest);
        let are_planned = keys.all(|(key, newest)| commands.add(key, newest).is_some());
        Ok(are_planned.then_some(commands))
    }

    /// Fills the key's open bucket, if there is one, and seals it if the next item needs more bytes
    /// than are left; further buckets take the other items. `None` if the append protocol has to
    /// store some of them.
    fn add(&mut self, key: &ChunkKey, mut newest: NewestBucket) -> Option<()> {
        let mut rest = &key.entries[..];
        if let NewestBucket::Open { room, .. } = newest {
            let items = room.min(rest.len());
            let mut batch = Batch::new(key.scope.clone(), rest[..items].iter().cloned());
            batch.newest_bucket = newest;
            self.fills.extend(batch.take_fills()?);
            let filled;
            (filled, rest) = rest.split_at(items - batch.len());
            self.filled_bytes += filled.iter().map(|entry| entry.size).sum::<usize>();
            newest = batch.newest_bucket;
        }
        match newest {
            _ if self.filled_bytes > COMMAND_BYTES => None,
            NewestBucket::Closed { last } => self.add_buckets(&key.scope, rest, last.as_deref()),
            _ => rest.is_empty().then_some(()),
        }
    }

    /// Adds the buckets of a key after `last`; `None` if the append protocol has to store some of
    /// the items.
    fn add_buckets(
        &mut self,
        scope: &IndexedScope,
        mut rest: &[Entry],
        last: Option<&str>,
    ) -> Option<()> {
        let mut ids = NextIds::default();
        let packs = packs(scope, rest.iter().map(|entry| entry.size));
        for (n, pack) in packs.iter().enumerate() {
            let entries;
            (entries, rest) = rest.split_at(pack.len);
            let elements = Vec::from_iter(entries.iter().map(|entry| &entry.element));
            // The unique index compares only items of different buckets.
            if let Some(field) = scope.spec.unique
                && twins(field, elements.iter().copied()).next().is_some()
            {
                return None;
            }
            let id = ids.advance(scope, entries.first()?.opening_id.clone(), last)?;
            let is_last = n + 1 == packs.len();
            let times = entries.iter().map(|entry| entry.time);
            let rolled = entries.iter().map(|entry| entry.rolled.clone());
            let bucket = WholeBucket {
                scope,
                id: &id,
                count: entries.len(),
                elements,
                summary: Summary::of(scope.spec, times, rolled)?,
                oversize: pack.oversize,
                sealed: !is_last && entries.len() < scope.capacity(),
            };
            self.buckets.push(raw(&bucket).ok()?);
        }
        Some(())
    }
}

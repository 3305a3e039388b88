//! The commands that store items of many keys in a collection to which nobody else writes.

use bucket_core::protocol::{budget::Budget, command::Update, pack::packs};
use mongodb::bson::RawDocumentBuf;

use super::{
    key_items::KeyItems,
    newest_buckets::find_newest_buckets,
    plan::{NextIds, PlannedBucket},
};
use crate::{
    Result,
    write::{
        engine::{COMMAND_BYTES, Engine, NewestBucket, SendMode},
        item,
    },
};

/// One command that fills open buckets, in order, and one with further buckets. If somebody else
/// has written to the collection since they were planned, the server refuses them.
#[derive(Debug, Default)]
pub struct Commands {
    /// Updates that fill open buckets.
    pub fills: Vec<Update>,
    /// New buckets, each with all its items.
    pub buckets: Vec<RawDocumentBuf>,
    /// The bytes of the items in `fills`.
    filled_bytes: usize,
}

impl Commands {
    /// Plans them by the newest bucket of each key. One round trip per thousand keys reads those
    /// that are not known. Where ids count up, it takes two more per hundred keys without an open
    /// bucket, and on a cluster one for each of them. `None` if some item can only be stored by the
    /// append protocol.
    pub async fn plan(engine: &Engine, keys: &mut [KeyItems]) -> Result<Option<Self>> {
        let is_unknown =
            |key_items: &&KeyItems| !matches!(key_items.newest_bucket, NewestBucket::Closed { .. });
        // One more read for a single key is worth it, since its last buckets may be of the next
        // item's moment.
        let is_single = keys.iter().filter(is_unknown).count() == 1;
        let counts = |key_items: &KeyItems| key_items.scope.spec.id.ordinal.counts();
        let reads_last = is_single || keys.first().is_some_and(counts);
        find_newest_buckets(engine, keys, reads_last).await?;
        let mut commands = Self::default();
        for key_items in keys {
            let Some((filled, last)) = commands.fill(engine, key_items) else {
                return Ok(None);
            };
            if commands.add_buckets(key_items, filled, last).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(commands))
    }

    /// Fills the key's open bucket, if there is one, and seals it if the next item needs more bytes
    /// than are left. Returns the number of items that it takes, and the bucket after which others
    /// follow.
    fn fill(&mut self, engine: &Engine, key_items: &KeyItems) -> Option<(usize, Option<String>)> {
        let mut newest_bucket = key_items.newest_bucket.clone();
        let mut filled = 0;
        if let Some(mut batch) = key_items.batch_for_open_bucket(engine) {
            let items = batch.len();
            self.filled_bytes += batch.bytes_of_first(items);
            while let NewestBucket::Open { .. } = batch.newest_bucket
                && !batch.is_empty()
            {
                let statement = batch.statements(SendMode::WithOthers).ok();
                let (update, carried) = statement?.pop()?;
                batch.record_stored(carried);
                self.fills.push(update);
            }
            filled = items - batch.len();
            newest_bucket = batch.newest_bucket;
        }
        match newest_bucket {
            _ if self.filled_bytes > COMMAND_BYTES => None,
            NewestBucket::Closed { last } => Some((filled, last)),
            _ if filled == key_items.indexes.len() => Some((filled, None)),
            _ => None,
        }
    }

    /// Adds further buckets of the key, for the items from `filled` on; `None` if the append
    /// protocol has to store or to refuse some of them.
    fn add_buckets(
        &mut self,
        key_items: &KeyItems,
        filled: usize,
        last: Option<String>,
    ) -> Option<()> {
        let (scope, mut rest) = (&key_items.scope, &key_items.indexes[filled..]);
        let opening_id = (rest.first()).and_then(|first| key_items.opening_id(*first));
        let is_of_moment = |id: &String| last.as_ref().is_some_and(|last| last.starts_with(id));
        let mut ids = NextIds::new(opening_id.filter(is_of_moment), last.clone());
        let budget = Budget::of(scope);
        let size = |index: &usize| match budget {
            Some(budget) => (key_items.size(*index)).filter(|size| budget.check(*size).is_ok()),
            // Then only the number of items counts.
            None => Some(0),
        };
        let sizes = rest.iter().map(size).collect::<Option<Vec<_>>>()?;
        let packs = packs(scope, sizes);
        for (n, pack) in packs.iter().enumerate() {
            let indexes;
            (indexes, rest) = rest.split_at(pack.len);
            if !are_single(key_items, indexes) || key_items.has_twins(indexes) {
                return None;
            }
            let is_last = n + 1 == packs.len();
            let bucket = PlannedBucket {
                id: ids.advance(key_items.opening_id(*indexes.first()?), scope)?,
                indexes: indexes.to_vec(),
                oversize: pack.oversize,
                sealed: !is_last && indexes.len() < key_items.capacity(),
            };
            let elements = key_items.elements(&bucket)?;
            (self.buckets).push(key_items.document(&bucket, &elements)?);
        }
        Some(())
    }
}

/// Whether each item has a single value in the `unique` field, if the struct has one.
fn are_single(key_items: &KeyItems, indexes: &[usize]) -> bool {
    let is_single = |field, index: &usize| {
        let identity = item::identity(key_items.item(*index), field);
        identity.is_some_and(|value| item::is_single(&value))
    };
    let unique = key_items.scope.spec.unique;
    unique.is_none_or(|field| indexes.iter().all(|index| is_single(field, index)))
}

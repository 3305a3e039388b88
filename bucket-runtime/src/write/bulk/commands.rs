//! The commands that store items of many keys in a collection to which nobody else writes.

use mongodb::bson::RawDocumentBuf;

use super::{
    key_items::{BufferedItem, KeyItems},
    newest_buckets::find_newest_buckets,
    plan::{BufferedElements, NextIds, has_twins},
};
use crate::{
    Bucket, Result,
    protocol::{
        budget::Budget,
        command::Update,
        pack::packs,
        whole_bucket::{Summary, WholeBucket},
    },
    value::element::raw,
    write::{
        engine::{COMMAND_BYTES, Engine, NewestBucket, SendMode},
        item,
    },
};

/// One command that fills open buckets, in order, and one with further buckets. If somebody else has written
/// to the collection since they were planned, the server refuses them.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    pub(crate) fills: Vec<Update>,
    pub(crate) buckets: Vec<RawDocumentBuf>,
    /// The bytes of the items in `fills`.
    filled_bytes: usize,
}

impl Commands {
    /// Plans them by the newest bucket of each key. One round trip per thousand keys reads those that are not
    /// known. Where ids count up, it takes two more per hundred keys without an open bucket, and on a cluster
    /// one for each of them. `None` if some item can only be stored by the append protocol.
    pub(crate) async fn plan<T: Bucket>(
        engine: &Engine,
        keys: &mut [KeyItems<T>],
    ) -> Result<Option<Self>> {
        let is_unknown = |key_items: &&KeyItems<T>| {
            !matches!(key_items.newest_bucket, NewestBucket::Closed { .. })
        };
        // One more read for a single key is worth it, since its last buckets may be of the next item's moment.
        let is_single = keys.iter().filter(is_unknown).count() == 1;
        find_newest_buckets(engine, keys, T::SPEC.id.ordinal.counts() || is_single).await?;
        let mut commands = Self::default();
        for key_items in keys {
            let Some((filled, last)) = commands.fill(engine, key_items)? else {
                return Ok(None);
            };
            if commands.add_buckets(key_items, filled, last).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(commands))
    }

    /// Fills the key's open bucket, if there is one, and seals it if the next item needs more bytes than are
    /// left. Returns the number of items that it takes, and the bucket after which others follow.
    fn fill<T: Bucket>(
        &mut self,
        engine: &Engine,
        key_items: &KeyItems<T>,
    ) -> Result<Option<(usize, Option<String>)>> {
        let mut newest_bucket = key_items.newest_bucket.clone();
        let mut filled = 0;
        if let Some(mut batch) = key_items.batch_for_open_bucket(engine) {
            let items = batch.len();
            self.filled_bytes += batch.bytes_of_first(items);
            while let NewestBucket::Open { .. } = batch.newest_bucket
                && !batch.is_empty()
            {
                let statement = batch.statements(SendMode::WithOthers).ok();
                let Some((update, carried)) = statement.and_then(|mut first| first.pop()) else {
                    return Ok(None);
                };
                engine.note_outcome(&mut batch, carried, Ok(true))?;
                self.fills.push(update);
            }
            filled = items - batch.len();
            newest_bucket = batch.newest_bucket;
        }
        Ok(match newest_bucket {
            _ if self.filled_bytes > COMMAND_BYTES => None,
            NewestBucket::Closed { last } => Some((filled, last)),
            _ if filled == key_items.items.len() => Some((filled, None)),
            _ => None,
        })
    }

    /// Adds further buckets of the key, for the items from `filled` on; `None` if the append protocol has to
    /// store or to refuse some of them.
    fn add_buckets<T: Bucket>(
        &mut self,
        key_items: &KeyItems<T>,
        filled: usize,
        last: Option<String>,
    ) -> Option<()> {
        let (scope, mut rest) = (&key_items.scope, &key_items.items[filled..]);
        let opening_id = rest.first().and_then(|item| item.opening_id(scope));
        let is_of_moment = |id: &String| last.as_ref().is_some_and(|last| last.starts_with(id));
        let mut ids = NextIds::new(opening_id.filter(is_of_moment), last.clone());
        let budget = Budget::of(scope);
        let size = |item: &BufferedItem<T>| match budget {
            Some(budget) => item.size().filter(|size| budget.check(*size).is_ok()),
            // Then only the number of items counts.
            None => Some(0),
        };
        let sizes = rest.iter().map(size).collect::<Option<Vec<_>>>()?;
        let packs = packs(scope, sizes);
        for (n, pack) in packs.iter().enumerate() {
            let items;
            (items, rest) = rest.split_at(pack.len);
            if !are_single(items) || has_twins(items) {
                return None;
            }
            let id = ids.advance(items.first()?.opening_id(scope), scope)?;
            let is_last = n + 1 == packs.len();
            let bucket = raw(&WholeBucket {
                scope,
                id: &id,
                count: items.len(),
                elements: BufferedElements(items),
                summary: Summary::of(items.iter().map(|item| &item.item))?,
                oversize: pack.oversize,
                sealed: !is_last && items.len() < key_items.capacity(),
            });
            self.buckets.push(bucket.ok()?);
        }
        Some(())
    }
}

/// Whether each item has a single value in the `unique` field, if the struct has one.
fn are_single<T: Bucket>(items: &[BufferedItem<T>]) -> bool {
    let is_single = |field, item: &BufferedItem<T>| {
        item::identity(&item.item, field).is_some_and(|value| item::is_single(&value))
    };
    T::SPEC
        .unique
        .is_none_or(|field| items.iter().all(|item| is_single(field, item)))
}

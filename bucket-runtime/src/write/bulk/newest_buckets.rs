//! Reads the newest buckets of many keys, before a load writes to them.

use std::collections::BTreeMap;

use bucket_core::value::number::comparable;

use super::{key_items::KeyItems, store::DOCUMENTS_PER_COMMAND};
use crate::{
    Result,
    write::engine::{Engine, NewestBucket},
};

/// Reads the newest bucket of every key whose state is unknown. If no bucket is open, it reads the
/// last one if `reads_last`; otherwise a refusal will show that an id is taken.
pub(super) async fn find_newest_buckets(
    engine: &Engine,
    keys: &mut [KeyItems],
    reads_last: bool,
) -> Result<()> {
    for keys in keys.chunks_mut(DOCUMENTS_PER_COMMAND) {
        find_open_buckets(engine, keys).await?;
    }
    let is_closed = |key_items: &&mut KeyItems| key_items.newest_bucket == NewestBucket::NoneOpen;
    let closed: Vec<_> = keys.iter_mut().filter(is_closed).collect();
    let unread = closed.iter().filter(|_| reads_last);
    let scopes = Vec::from_iter(unread.map(|key_items| &key_items.scope));
    let mut last = engine.server.last_buckets(&scopes).await?.into_iter();
    for key_items in closed {
        key_items.newest_bucket = NewestBucket::from_last(last.next().flatten());
    }
    Ok(())
}

async fn find_open_buckets(engine: &Engine, keys: &mut [KeyItems]) -> Result<()> {
    // By the values of the key's fields (and of the window), in a form in which equal ones are equal.
    let mut unknown = BTreeMap::new();
    for key_items in keys {
        if key_items.newest_bucket == NewestBucket::MustRead {
            let values = key_items
                .scope
                .fields()
                .map(|(_, value)| comparable(&value));
            unknown.insert(Vec::from_iter(values), key_items);
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let scopes: Vec<_> = unknown.values().map(|key_items| &key_items.scope).collect();
    for (key, open) in engine.server.open_buckets(&scopes).await? {
        let key = Vec::from_iter(key.iter().map(comparable));
        let Some(key_items) = unknown.remove(&key) else {
            continue;
        };
        // If the open bucket has a foreign id, the append protocol reports the error.
        if let Ok(newest_bucket) = NewestBucket::from_open(open, &key_items.scope) {
            key_items.newest_bucket = newest_bucket;
        }
    }
    for key_items in unknown.into_values() {
        key_items.newest_bucket = NewestBucket::NoneOpen;
    }
    Ok(())
}

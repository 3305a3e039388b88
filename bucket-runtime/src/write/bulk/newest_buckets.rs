//! Reads the newest buckets of many keys, before a load writes to them.

use std::collections::HashMap;

use mongodb::bson::Bson;

use super::{key_items::KeyItems, store::DOCUMENTS_PER_COMMAND};
use crate::{
    Bucket, Result,
    error::Kind,
    protocol::command::KeyScope,
    schema::key::Key,
    server::current_index::IndexDeadline,
    write::engine::{Engine, NewestBucket},
};

/// Reads the newest bucket of every key whose state is unknown. If no bucket is open, it reads the last one
/// if `reads_last`; otherwise a refusal will show that an id is taken.
pub(super) async fn find_newest_buckets<T: Bucket>(
    engine: &Engine,
    keys: &mut [KeyItems<T>],
    reads_last: bool,
) -> Result<()> {
    for keys in keys.chunks_mut(DOCUMENTS_PER_COMMAND) {
        let mut deadline = IndexDeadline::default();
        while let Err(error) = find_open_buckets(engine, keys).await {
            if !error.is(&Kind::MissingIndex) {
                return Err(error);
            }
            // Another process is changing the capacity.
            (engine.index.wait(const { &T::SPEC }, &mut deadline, error)).await?;
        }
    }
    let is_closed =
        |key_items: &&mut KeyItems<T>| key_items.newest_bucket == NewestBucket::NoneOpen;
    let closed: Vec<_> = keys.iter_mut().filter(is_closed).collect();
    let last = match reads_last {
        true => {
            let scopes: Vec<_> = closed.iter().map(|key_items| &key_items.scope).collect();
            engine.server.last_buckets(&scopes).await?
        }
        false => closed.iter().map(|_| None).collect(),
    };
    for (key_items, last) in closed.into_iter().zip(last) {
        key_items.newest_bucket = NewestBucket::from_last(last);
    }
    Ok(())
}

async fn find_open_buckets<T: Bucket>(engine: &Engine, keys: &mut [KeyItems<T>]) -> Result<()> {
    let mut unknown = HashMap::new();
    for key_items in keys {
        key_items.scope.open = engine.index.get();
        if key_items.newest_bucket == NewestBucket::MustRead {
            unknown.insert(key_items.scope.prefix.clone(), key_items);
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let scopes: Vec<_> = unknown.values().map(|key_items| &key_items.scope).collect();
    for (key, open) in engine.server.open_buckets(&scopes).await? {
        let prefix = prefix::<T>(key).unwrap_or_default();
        let Some(key_items) = unknown.remove(&prefix) else {
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

/// The prefix of the ids of the key or window that these stored values name.
fn prefix<T: Bucket>(mut key: Vec<Bson>) -> Option<String> {
    let window = key.split_off(T::SPEC.key.len()).pop();
    let window = window.and_then(|start| start.as_datetime().copied());
    let key = T::Key::from_values(key).ok()?;
    let scope = KeyScope::new(const { &T::SPEC }, T::Key::parts(key.borrowed()));
    Some(scope.at(window).prefix)
}

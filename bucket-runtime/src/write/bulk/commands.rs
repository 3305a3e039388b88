//! The commands that store items of many keys in a collection to which nobody else writes.

use mongodb::bson::RawDocumentBuf;

use super::{
    key_items::{Held, KeyItems},
    look::look,
    measure::documents,
    store::PlannedBuckets,
};
use crate::{
    Bucket, Result,
    protocol::command::Update,
    write::engine::{COMMAND_BYTES, Engine, NewestBucket, SendMode},
};

/// One command that fills open buckets, and one with further buckets. If somebody else has written to the
/// collection since they were planned, the server refuses them.
#[derive(Debug)]
pub(crate) struct Commands {
    pub(crate) fills: Vec<Update>,
    pub(crate) buckets: Vec<RawDocumentBuf>,
}

impl Commands {
    /// Plans them by what the collection holds. One round trip per thousand keys reads that. Where ids
    /// count up, it takes two more per hundred keys without an open bucket, and on a cluster one for each of
    /// them. `None` if some item can only be stored by the append protocol.
    pub(crate) async fn plan<T: Bucket>(
        engine: &Engine,
        keys: Vec<Vec<Held<T>>>,
    ) -> Result<Option<Self>> {
        let keys = keys.into_iter();
        let keys = keys.filter_map(|held| KeyItems::new(held, engine.index.get()));
        let mut keys: Vec<_> = keys.collect();
        look(engine, &mut keys, T::SPEC.id.ordinal.counts()).await?;
        let mut fills = Vec::new();
        let mut bytes = 0;
        let mut planned = PlannedBuckets::new();
        for (at, key_items) in keys.iter_mut().enumerate() {
            if let Some(mut batch) = key_items.for_open_bucket(engine) {
                bytes += batch.bytes(batch.len());
                let statement = batch.statements(SendMode::WithOthers).ok();
                let Some((update, carried)) = statement.and_then(|mut first| first.pop()) else {
                    return Ok(None);
                };
                key_items.held.drain(..batch.len());
                engine.note_outcome(&mut batch, carried, Ok(true))?;
                if !batch.is_empty() || bytes > COMMAND_BYTES {
                    return Ok(None);
                }
                key_items.newest_bucket = batch.newest_bucket;
                fills.push(update);
            }
            if key_items.held.is_empty() {
                continue;
            }
            let NewestBucket::Closed { .. } = key_items.newest_bucket else {
                return Ok(None);
            };
            let Some(of_key) = key_items.chunks(false) else {
                return Ok(None);
            };
            planned.extend(of_key.into_iter().map(|bucket| (at, bucket)));
        }
        let mut buckets = Vec::new();
        while !planned.is_empty() {
            let some = documents(&mut keys, &mut planned);
            if some.is_empty() {
                return Ok(None);
            }
            planned.drain(..some.len());
            buckets.extend(some);
        }
        Ok(Some(Self { fills, buckets }))
    }
}

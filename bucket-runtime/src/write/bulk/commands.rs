//! The commands that store items of many keys in a collection to which nobody else writes.

use mongodb::bson::RawDocumentBuf;

use super::{
    key_items::{BufferedItem, KeyItems},
    newest_buckets::find_newest_buckets,
    plan::PlannedBuckets,
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
    /// Plans the commands by what the collection holds. One round trip per thousand keys reads that. Where ids
    /// count up, it takes two more per hundred keys without an open bucket, and on a cluster one for each of
    /// them. `None` if some item can only be stored by the append protocol.
    pub(crate) async fn plan<T: Bucket>(
        engine: &Engine,
        keys: Vec<Vec<BufferedItem<T>>>,
    ) -> Result<Option<Self>> {
        let keys = keys.into_iter();
        let keys = keys.filter_map(|items| KeyItems::new(items, engine.index.get()));
        let mut keys: Vec<_> = keys.collect();
        find_newest_buckets(engine, &mut keys, T::SPEC.id.ordinal.counts()).await?;
        let mut fills = Vec::new();
        let mut bytes = 0;
        let mut planned = PlannedBuckets::new(&mut keys);
        for at in 0..planned.keys.len() {
            let key_items = &mut planned.keys[at];
            if let Some(mut batch) = key_items.batch_for_open_bucket(engine) {
                let items = batch.len();
                bytes += batch.bytes_of_first(items);
                let statement = batch.statements(SendMode::WithOthers).ok();
                let Some((update, carried)) = statement.and_then(|mut first| first.pop()) else {
                    return Ok(None);
                };
                engine.note_outcome(&mut batch, carried, Ok(true))?;
                if !batch.is_empty() || bytes > COMMAND_BYTES {
                    return Ok(None);
                }
                key_items.items.drain(..items);
                key_items.newest_bucket = batch.newest_bucket;
                fills.push(update);
            }
            if key_items.items.is_empty() {
                continue;
            }
            let NewestBucket::Closed { .. } = key_items.newest_bucket else {
                return Ok(None);
            };
            let Some(buckets) = key_items.plan_buckets(false) else {
                return Ok(None);
            };
            planned.extend(at, buckets);
        }
        let mut buckets = Vec::new();
        while !planned.buckets.is_empty() {
            let documents = planned.next_documents();
            if documents.is_empty() {
                return Ok(None);
            }
            planned.buckets.drain(..documents.len());
            buckets.extend(documents);
        }
        Ok(Some(Self { fills, buckets }))
    }
}

//! Reads the newest buckets of many keys, before a load writes to them.

use std::collections::BTreeMap;

use bucket_core::{protocol::command::IndexedScope, value::number::comparable};

use super::store::DOCUMENTS_PER_COMMAND;
use crate::{
    Result,
    write::engine::{Engine, NewestBucket},
};

impl Engine {
    /// Reads the newest bucket of every key whose state is unknown. If no bucket is open, it reads
    /// the last one if `reads_last`; otherwise a refusal will show that an id is taken.
    pub async fn find_newest_buckets(
        &self,
        mut keys: Vec<(&IndexedScope, &mut NewestBucket)>,
        reads_last: bool,
    ) -> Result<()> {
        for keys in keys.chunks_mut(DOCUMENTS_PER_COMMAND) {
            self.find_open_buckets(keys).await?;
        }
        keys.retain(|(_, newest)| **newest == NewestBucket::NoneOpen);
        let unread = keys.iter().filter(|_| reads_last);
        let scopes = Vec::from_iter(unread.map(|(scope, _)| *scope));
        let mut last = self.server.last_buckets(&scopes).await?.into_iter();
        for (_, newest) in keys {
            *newest = last.next().unwrap_or(NewestBucket::Closed { last: None });
        }
        Ok(())
    }

    async fn find_open_buckets(
        &self,
        keys: &mut [(&IndexedScope, &mut NewestBucket)],
    ) -> Result<()> {
        // Equal values of key fields (and of windows) are equal in this form.
        let mut unknown = BTreeMap::new();
        for (scope, newest) in keys {
            if **newest == NewestBucket::MustRead {
                let values = scope.fields().map(|(_, value)| comparable(&value));
                unknown.insert(Vec::from_iter(values), (*scope, newest));
            }
        }
        let scopes = unknown.values().map(|(scope, _)| *scope);
        // With a capacity of 1 no bucket is ever open, so there is nothing to look for.
        let scopes = Vec::from_iter(scopes.filter(|scope| scope.open.capacity > 1));
        for (key, open) in self.server.open_buckets(&scopes).await? {
            let key = Vec::from_iter(key.iter().map(comparable));
            let Some((scope, newest)) = unknown.remove(&key) else {
                continue;
            };
            // If the open bucket has a foreign id, the append protocol reports the error.
            if let Ok(open) = NewestBucket::from_open(open, scope) {
                **newest = open;
            }
        }
        for (_, newest) in unknown.into_values() {
            **newest = NewestBucket::NoneOpen;
        }
        Ok(())
    }
}

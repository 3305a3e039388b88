//! The last buckets of many keys, which a load reads before it writes further ones.

use std::{
    collections::BTreeMap,
    ops::Bound::{Included, Unbounded},
};

use futures_util::{StreamExt, stream};
use mongodb::bson::{Document, doc};

use crate::{
    Result,
    protocol::{
        command::{IndexedScope, KeyScope},
        newest_bucket::NewestBucket,
        range::Range,
    },
    schema::spec::BucketSpec,
    server::{Server, read::fill},
};

/// How many keys' last buckets one command reads.
const KEYS_PER_READ: usize = 100;

/// How many ids one command reads at most for each key. Keys with a longer history are cheaper to
/// read one by one.
const IDS_PER_KEY: usize = 8;

/// How many single keys are read at the same time.
const CONCURRENT_READS: usize = 8;

impl Server {
    /// The last bucket of each of these keys, in their order.
    ///
    /// For each hundred keys, one command reads the ids of their buckets from the index alone, the
    /// greatest first, and another one the last bucket of each key. If the first command reaches
    /// its limit, the keys whose ids it has not read are read one by one. On a cluster all are:
    /// each of these commands would ask every shard, and the shards would read documents.
    pub async fn last_buckets(&self, scopes: &[&IndexedScope]) -> Result<Vec<NewestBucket>> {
        let mut found = Vec::with_capacity(scopes.len());
        for scopes in scopes.chunks(KEYS_PER_READ) {
            found.extend(self.last_buckets_of_some(scopes).await?);
        }
        Ok(found)
    }

    async fn last_buckets_of_some(&self, scopes: &[&IndexedScope]) -> Result<Vec<NewestBucket>> {
        let mut found = vec![NewestBucket::Closed { last: None }; scopes.len()];
        let numbered = scopes.iter().enumerate();
        let mut unread = KeyIndexes(numbered.map(|(at, scope)| (&*scope.prefix, at)).collect());
        if let [first, _, ..] = scopes
            && !self.is_sharded()
        {
            let limit = scopes.len() * IDS_PER_KEY;
            let ids = self.greatest_ids(scopes, limit).await?;
            let mut last = BTreeMap::new();
            for id in &ids {
                if let Some((prefix, _)) = unread.find(id) {
                    last.entry(prefix).or_insert(id);
                }
            }
            // The keys from here on have been read; those without an id have no bucket.
            let reached = match last.first_key_value() {
                Some((prefix, _)) if ids.len() == limit => *prefix,
                _ => "",
            };
            let is_unread = |prefix: &str| prefix < reached || last.contains_key(prefix);
            unread.0.retain(|prefix, _| is_unread(prefix));
            for bucket in self.find_filling(first.spec, last.into_values()).await? {
                if let Some((prefix, at)) = unread.find(bucket.get_str("_id").unwrap_or_default()) {
                    found[at] = fill::last_bucket(&bucket, scopes[at]);
                    unread.0.remove(prefix);
                }
            }
        }
        let mut reads = Vec::new();
        for at in unread.0.into_values() {
            reads.push(async move { (at, self.last_bucket(scopes[at], None).await) });
        }
        let mut reads = stream::iter(reads).buffer_unordered(CONCURRENT_READS);
        while let Some((at, last)) = reads.next().await {
            found[at] = last?;
        }
        Ok(found)
    }

    /// The greatest ids of these keys, in descending order.
    async fn greatest_ids(&self, scopes: &[&IndexedScope], limit: usize) -> Result<Vec<String>> {
        let greatest = Range {
            limit: Some(limit as i64),
            batch_size: Some(limit as u32),
            ..Range::newest_first().project(doc! { "_id": 1 })
        };
        let ids = (self.target().find(KeyScope::ids_of_any(scopes), greatest))
            // Without it the server would plan each key's range by itself, which takes twice the
            // time.
            .hint("_id_")
            .read_latest();
        let ids = ids.rows(None).await?;
        let id = |document: Document| document.get_str("_id").unwrap_or_default().to_owned();
        Ok(ids.into_iter().map(id).collect())
    }

    /// The fields of the buckets with these ids that show how full they are.
    async fn find_filling(
        &self,
        spec: &BucketSpec,
        ids: impl Iterator<Item = &String>,
    ) -> Result<Vec<Document>> {
        let ids: Vec<_> = ids.collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids = doc! { "_id": { "$in": ids } };
        let filling = Range::unordered().project(fill::filling_of_last(spec));
        let found = self.target().find(ids, filling).read_latest();
        found.rows(None).await
    }
}

/// The indexes of keys in a list, by their prefixes.
struct KeyIndexes<'s>(BTreeMap<&'s str, usize>);

impl<'s> KeyIndexes<'s> {
    /// The key whose ids include this one. The ids of two keys never mix, so it is the key with the
    /// greatest prefix up to the id.
    fn find(&self, id: &str) -> Option<(&'s str, usize)> {
        let (prefix, at) = (self.0)
            .range::<str, _>((Unbounded, Included(id)))
            .next_back()?;
        id.starts_with(prefix).then_some((*prefix, *at))
    }
}

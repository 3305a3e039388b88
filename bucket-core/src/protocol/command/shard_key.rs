//! The fields by which a collection may be sharded.
//!
//! Every filter of a call for a key holds the equality of the key fields beside the range of ids
//! (`KeyScope::with_key`), so a `mongos` asks one shard. Where no `mongos` answers, the reads that
//! count pages, skip them or find the last id use the range alone (`Server::by_ids`): the `_id`
//! index then answers without the documents. A numbered page is found there by its `_id` alone,
//! which the server looks up without a plan. Each shard enforces a unique index only among its own
//! documents, so the server refuses `bucket_open` unless its first fields are those of the shard
//! key. Behind a `mongos`, `listIndexes` shows one shard's indexes, so each opening sends ours
//! again.

use mongodb::bson::{Bson, Document};

use super::each_one;
use crate::schema::spec::BucketSpec;

/// The key fields: all buckets of a key are then on one shard, whose index can refuse a second open
/// one.
pub fn shard_key(spec: &BucketSpec) -> Document {
    each_one(spec.key_names())
}

/// The key fields and the window, if the struct has windows: a key's windows are then on several
/// shards.
pub fn window_shard_key(spec: &BucketSpec) -> Option<Document> {
    let window = spec.window_name()?;
    Some(each_one(spec.key_names().chain([window])))
}

/// The first field of a shard key alone, hashed.
pub fn hashed(shard_key: Document) -> Document {
    let first = shard_key.into_iter().take(1);
    first
        .map(|(name, _)| (name, Bson::from("hashed")))
        .collect()
}

/// Whether a collection with this shard key can have a unique index on these fields: each shard
/// refuses duplicates only among its own documents, so equal values have to be on one shard.
pub fn allows(shard_key: &Document, index: &Document) -> bool {
    shard_key.len() <= index.len() && shard_key.keys().eq(index.keys().take(shard_key.len()))
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;
    use crate::{
        protocol::command::open_index_keys,
        schema::spec::{IdFormat, KeyName, Ordinal},
    };

    const WINDOWS: BucketSpec = BucketSpec::new(
        "readings",
        IdFormat::new("", &["_", "_"], Ordinal::Window { seconds: 3600 }),
        4,
        &[KeyName::new("site"), KeyName::new("sensor")],
    );

    #[test]
    fn the_shard_key_is_the_key_with_or_without_the_window() {
        let key = doc! { "site": 1, "sensor": 1 };
        assert_eq!(shard_key(&WINDOWS), key);
        let with_window = doc! { "site": 1, "sensor": 1, "window": 1 };
        assert_eq!(window_shard_key(&WINDOWS), Some(with_window));
        assert_eq!(hashed(key), doc! { "site": "hashed" });
    }

    #[test]
    fn a_shard_key_that_parts_a_key_allows_no_unique_index() {
        let index = open_index_keys(&WINDOWS);
        let allowed = [
            doc! { "site": 1 },
            doc! { "site": "hashed" },
            doc! { "site": 1, "sensor": 1 },
            doc! { "site": 1, "sensor": 1, "window": 1 },
        ];
        assert!(allowed.iter().all(|key| allows(key, &index)));
        let refused = [
            doc! { "_id": 1 },
            doc! { "sensor": 1 },
            doc! { "site": 1, "_id": 1 },
            doc! { "site": 1, "window": 1 },
        ];
        assert!(!refused.iter().any(|key| allows(key, &index)));
    }
}

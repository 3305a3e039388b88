//! Whether the new collection holds what the old one holds.

use mongodb::bson::{Bson, Document, doc};
use sha2::{Digest, Sha256};

use super::state::MigrationState;
use crate::{
    Bucket, Result,
    error::Kind,
    protocol::{query::Query, range::Range},
    schema::{id, key::Key},
    server::Server,
    value::{
        bytes,
        element::{Refusal, whole},
        stored_bucket::StoredBucket,
    },
};

/// An error unless the old collection holds as many items as were migrated, and the new one exactly
/// those. It reads the whole new collection.
pub(super) async fn verify<O: Bucket, T: Bucket>(
    old: &Server,
    new: &Server,
    state: &MigrationState,
) -> Result<()> {
    let target = new.target();
    let all = target.find(Document::new(), Range::oldest_first());
    let mut rows = all.cursor::<StoredBucket<T, Bson>>(None).await?;
    let (mut items, mut sum) = (0, 0_i64);
    while let Some(bucket) = rows.next_bucket(None).await? {
        let key = id::prefix(&T::SPEC.id, &T::Key::parts(bucket.key.borrowed()));
        for element in &bucket.elements {
            let print = fingerprint(&key, element);
            let unreadable = || target.error(Kind::Deserialize(format!("{:?}", bucket.id)));
            let print = print.map_err(|refusal| unreadable().with_source(refusal))?;
            sum = sum.wrapping_add(print);
            items += 1;
        }
    }
    let there = count::<O>(old).await?;
    match (there, items, sum) == (state.items, state.items, state.sum) {
        true => Ok(()),
        false => Err(target.error(Kind::Unverified {
            old: there,
            migrated: state.items,
            new: items,
        })),
    }
}

/// How many items a collection holds.
pub(super) async fn count<T: Bucket>(server: &Server) -> Result<u64> {
    let count = Query::everything().count(&T::SPEC, None);
    let found = server.target().pipeline(count).first(None).await?;
    let items = found.and_then(|found| whole(found.get("items")?));
    Ok(items.map_or(0, |items| u64::try_from(items).unwrap_or(0)))
}

/// A number for an item, by its key and its element: two collections with the same sum of these numbers
/// hold the same items, in whatever order.
pub(super) fn fingerprint(key: &str, element: &Bson) -> Result<i64, Refusal> {
    let element = bytes::write(&doc! { "": element })?;
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update([0]);
    hash.update(element);
    let hash = hash.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    Ok(i64::from_le_bytes(first))
}

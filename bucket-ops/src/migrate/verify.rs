//! Whether the new collection holds what the old one holds.

use bucket_core::{
    error::Kind,
    protocol::{command::IndexedScope, query::Query, range::Range},
    schema::{id, key::Key},
    server::Server,
    value::{bytes, element::Refusal},
};
use bucket_runtime::{
    __ops::{Engine, Entry, next_bucket},
    Bucket, Result,
};
use mongodb::bson::{Bson, Document, doc};

use super::{Convert, state::MigrationState};
use crate::transfer::hash;

/// An error unless the old collection holds as many items as were migrated, and the new one exactly
/// those. It reads the whole new collection.
pub(super) async fn verify<O: Bucket, T: Bucket>(
    old: &Server,
    new: &Server,
    state: &MigrationState,
) -> Result<()> {
    let (items, sum) = items_and_sum::<T>(new).await?;
    let there = count::<O>(old).await?;
    match (there, items, sum) == (state.items, state.items, state.sum) {
        true => Ok(()),
        false => Err(new.target().error(Kind::Unverified {
            old: there,
            migrated: state.items,
            new: items,
        })),
    }
}

/// The number of items if the new collection holds exactly those of the old one, since an earlier
/// call has ended. It reads both collections, unless their numbers of items differ.
pub(super) async fn ended<O: Bucket, T: Bucket>(
    engine: &Engine,
    old: &Server,
    convert: &mut Convert<'_, O, T>,
) -> Result<Option<u64>> {
    if count::<O>(old).await? != count::<T>(&engine.server).await? {
        return Ok(None);
    }
    let all = (old.target()).find(Document::new(), Range::oldest_first());
    let mut rows = all.cursor(None).await?;
    let (mut items, mut sum) = (0, 0_i64);
    while let Some((bucket, _)) = next_bucket::<O, O::Element>(&mut rows, None).await? {
        for item in bucket.into_items() {
            sum = sum.wrapping_add(entry_fingerprint(engine, &engine.entry(&convert(item))?)?);
            items += 1;
        }
    }
    let is_there = items_and_sum::<T>(&engine.server).await? == (items, sum);
    Ok(is_there.then_some(items))
}

/// The number of items in the new collection, and the sum of their fingerprints.
async fn items_and_sum<T: Bucket>(new: &Server) -> Result<(u64, i64)> {
    let target = new.target();
    let all = target.find(Document::new(), Range::oldest_first());
    let mut rows = all.cursor(None).await?;
    let (mut items, mut sum) = (0, 0_i64);
    while let Some((bucket, _)) = next_bucket::<T, Bson>(&mut rows, None).await? {
        let key = id::prefix(&T::SPEC.id, &T::Key::parts(bucket.key.borrowed()));
        for element in &bucket.elements {
            let print = fingerprint(&key, element);
            let unreadable = || target.error(Kind::Deserialize(format!("{:?}", bucket.id)));
            let print = print.map_err(|refusal| unreadable().with_source(refusal))?;
            sum = sum.wrapping_add(print);
            items += 1;
        }
    }
    Ok((items, sum))
}

/// How many items a collection holds.
pub(super) async fn count<T: Bucket>(server: &Server) -> Result<u64> {
    let count = Query::everything().count(&T::SPEC, None);
    server.target().pipeline(count).sum(None).await
}

/// The fingerprint of an entry.
pub(super) fn entry_fingerprint(
    engine: &Engine,
    (scope, entry): &(IndexedScope, Entry),
) -> Result<i64> {
    let print = fingerprint(&id::prefix(&scope.spec.id, &scope.parts), &entry.element);
    let fail = || engine.target_of(scope).error(Kind::Serialize);
    print.map_err(|why| fail().with_source(why))
}

/// A number for an item, by its key and its element: two collections with the same sum of these
/// numbers hold the same items, in whatever order.
fn fingerprint(key: &str, element: &Bson) -> Result<i64, Refusal> {
    let element = bytes::write(&doc! { "": element })?;
    Ok(hash(&[key.as_bytes(), &[0], &element]))
}

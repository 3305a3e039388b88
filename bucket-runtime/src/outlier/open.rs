//! Opens the two collections.

use bucket_core::{
    error::Kind,
    protocol::indexes,
    server::{Server, call::span},
};
use mongodb::{
    Collection,
    bson::{Document, doc},
};

use crate::{
    Bucket, Error, Result,
    call::Call,
    open::{self, OpenSettings},
    outlier::{Outlier, Outliers, extra::ExtraItem},
    write::engine::Engine,
};

/// Two opened collections: await it; see [`Outlier::outliers`].
pub type OpenOutliers<T> = Call<'static, Outliers<T>, OpenSettings>;

/// Opens the collections of parents and of extras.
pub(super) fn open_outliers<T: Outlier>(
    parents: Collection<Document>,
    extras: Collection<Document>,
) -> OpenOutliers<T> {
    OpenOutliers::new(span!(outliers), |settings| async move {
        let parents = Server::new(parents).tracing_keys(settings.traces_keys);
        parents.known_deployment().await?;
        let extras = parents.with_collection(extras);
        check_shard_key(&parents).await?;
        if T::SPEC.total.is_some() {
            parents.needs_replica_set("#[outlier(total)]").await?;
        }
        open_both(parents, extras, !settings.creates_nothing).await
    })
}

/// Opens two collections: creates the indexes that they lack, unless somebody else does.
pub async fn open_both<T: Outlier>(
    parents: Server,
    extras: Server,
    create: bool,
) -> Result<Outliers<T>> {
    let of_extras = open::check_indexes(&extras, &ExtraItem::<T>::SPEC).await;
    let mut of_extras = of_extras.map_err(Error::of_extras)?;
    let others = indexes::of_extras(&of_extras.found, &T::SPEC);
    let others = others.map_err(|kind| extras.target().error(kind))?;
    of_extras.lacking.extend(others);
    let found = match T::SPEC.indexes {
        [] => Vec::new(),
        _ => parents.target().indexes().await?,
    };
    let of_parents = indexes::of_parents(&found, &T::SPEC);
    let of_parents = of_parents.map_err(|kind| parents.target().error(kind))?;
    if !create {
        open::must_exist(&[(&extras, &of_extras.lacking), (&parents, &of_parents)])?;
    }
    let index = open::open(&extras, &ExtraItem::<T>::SPEC, of_extras, create).await?;
    open::indexes::create(&parents, of_parents).await?;
    let extras = Engine::new(extras, index);
    Ok(Outliers::new(parents, extras))
}

/// Each shard sees only its own parents: unless `_id` is the shard key, two could have the same.
async fn check_shard_key(parents: &Server) -> Result<()> {
    let found = match parents.is_sharded() {
        true => parents.shard_key().await,
        false => None,
    };
    match found.filter(|found| !found.keys().eq(["_id"])) {
        None => Ok(()),
        Some(found) => Err(parents.target().error(Kind::ShardKey {
            found: Some(found.to_string()),
            wanted: doc! { "_id": 1 }.to_string(),
        })),
    }
}

//! Opens the two collections.

use std::marker::PhantomData;

use mongodb::{
    Collection,
    bson::{Document, doc},
};

use super::{extra::Extra, handle::Outliers};
use crate::{
    Bucket, Error, Result,
    error::Kind,
    maintain::open,
    outlier::Outlier,
    protocol::{command, indexes},
    server::Server,
    write::engine::Engine,
};

/// Builder of two opened collections: await it; see [`Outlier::outliers`].
#[must_use = "the collections are opened when this is awaited"]
pub struct OpenOutliers<T> {
    parents: Collection<Document>,
    extras: Collection<Document>,
    parent: PhantomData<fn() -> T>,
}

impl<T: Outlier> OpenOutliers<T> {
    pub(crate) fn new(parents: Collection<Document>, extras: Collection<Document>) -> Self {
        Self {
            parents,
            extras,
            parent: PhantomData,
        }
    }

    pub(crate) async fn execute(self) -> Result<Outliers<T>> {
        let extras = Server::new(self.extras);
        let indexes = open::open(&extras, &Extra::<T>::SPEC).await;
        let indexes = indexes.map_err(Error::of_extras)?;
        let keys = command::reference_index_keys(T::SPEC.reference);
        if !indexes.found.iter().any(|index| index.keys == keys) {
            let created = extras.create_reference_index(T::SPEC.reference).await;
            created.map_err(|error| extras.context().write(error))?;
        }
        let parents = extras.beside(self.parents);
        check_shard_key(&parents).await?;
        if T::SPEC.total.is_some() {
            parents.needs_replica_set("#[outlier(total)]").await?;
        }
        if !T::SPEC.indexes.is_empty() {
            let found = parents.indexes().await;
            let found = found.map_err(|error| parents.context().read(error))?;
            let paths = T::SPEC.indexes.iter().map(|name| (*name).to_owned());
            let missing = indexes::plain(&found, paths);
            let missing = missing.map_err(|kind| parents.context().kind(kind))?;
            open::create(&parents, missing).await?;
        }
        Ok(Outliers::new(parents, Engine::new(extras, indexes.index)))
    }
}

/// Each shard sees only its own parents: unless `_id` is the shard key, two could have the same.
async fn check_shard_key(parents: &Server) -> Result<()> {
    if !parents.known_deployment().await?.is_sharded() {
        return Ok(());
    }
    match parents.shard_key().await {
        Some(found) if !found.keys().eq(["_id"]) => {
            let kind = Kind::ShardKey {
                found: Some(found.to_string()),
                wanted: doc! { "_id": 1 }.to_string(),
            };
            Err(parents.context().kind(kind))
        }
        _ => Ok(()),
    }
}

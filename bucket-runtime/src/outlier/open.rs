//! Opens the two collections.

use std::marker::PhantomData;

use bucket_core::{error::Kind, protocol::indexes, server::Server};
use mongodb::{
    Collection,
    bson::{Document, doc},
};

use crate::{
    Bucket, Error, Result, open,
    outlier::{Outlier, Outliers, extra::ExtraItem},
    write::engine::Engine,
};

/// Builder of two opened collections: await it; see [`Outlier::outliers`].
#[must_use = "the collections are opened when this is awaited"]
pub struct OpenOutliers<T> {
    parents: Collection<Document>,
    extras: Collection<Document>,
    create: bool,
    trace_keys: bool,
    parent: PhantomData<fn() -> T>,
}

impl<T: Outlier> OpenOutliers<T> {
    pub(crate) fn new(parents: Collection<Document>, extras: Collection<Document>) -> Self {
        Self {
            parents,
            extras,
            create: true,
            trace_keys: false,
            parent: PhantomData,
        }
    }

    /// Whether to create the indexes that are missing. The default is `true`. With `false` somebody
    /// else creates them (see [`Outlier::indexes`]), and opening only checks; behind a `mongos`,
    /// those of one shard.
    ///
    /// # Errors
    ///
    /// [`is_index_missing`](Error::is_index_missing), with the commands that create the missing
    /// ones.
    pub fn create_indexes(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether the spans of the handle's calls name the key (the field `bucket.key`). The default
    /// is `false`, since a key may be personal data. Needs the feature `tracing`, see
    /// [`guide::tracing`](crate::guide::tracing).
    #[cfg(feature = "tracing")]
    pub fn trace_keys(mut self, trace: bool) -> Self {
        self.trace_keys = trace;
        self
    }

    pub(crate) async fn execute(self) -> Result<Outliers<T>> {
        let parents = Server::new(self.parents).tracing_keys(self.trace_keys);
        parents.known_deployment().await?;
        let extras = parents.with_collection(self.extras);
        check_shard_key(&parents).await?;
        if T::SPEC.total.is_some() {
            parents.needs_replica_set("#[outlier(total)]").await?;
        }
        open_both(parents, extras, self.create).await
    }
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

//! Opening the two collections.

use std::{future::IntoFuture, marker::PhantomData};

use futures_util::future::BoxFuture;
use mongodb::{Collection, bson::Document};

use super::{extra::Extra, handle::Outliers};
use crate::{
    Bucket, Error, Outlier, Result, command, engine::Engine, indexes, open, server::Server,
};

/// The opening of two collections, which waits to be awaited; see [`Outlier::outliers`].
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
}

impl<T: Outlier> IntoFuture for OpenOutliers<T> {
    type Output = Result<Outliers<T>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let extras = Server::new(self.extras);
            let indexes = open::open(&extras, &Extra::<T>::SPEC).await;
            let indexes = indexes.map_err(Error::of_extras)?;
            let keys = command::reference_index_keys(T::SPEC.reference);
            if !indexes.found.iter().any(|index| index.keys == keys) {
                let created = extras.create_reference_index(T::SPEC.reference).await;
                created.map_err(|error| Error::read(error, extras.name()))?;
            }
            let parents = Server::new(self.parents);
            if !T::SPEC.indexes.is_empty() {
                let found = parents.indexes().await;
                let found = found.map_err(|error| Error::read(error, parents.name()))?;
                let paths = T::SPEC.indexes.iter().map(|name| (*name).to_owned());
                let missing = indexes::plain(&found, paths);
                let missing = missing.map_err(|kind| Error::new(kind, parents.name()))?;
                open::create(&parents, missing).await?;
            }
            Ok(Outliers::new(parents, Engine::new(extras, indexes.index)))
        })
    }
}

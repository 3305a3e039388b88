//! The handle for the parents of one collection and their extras in another.

use std::{fmt, marker::PhantomData};

use bucket_core::{protocol::command::KeyScope, schema::key::Key, server::Server};
use mongodb::{Collection, bson::Document};

use super::{
    IdRef, Outlier, collections::OutlierCollections, extra::ExtraItem, known::KnownOutliers,
    parent_handle::ParentHandle,
};
use crate::{
    Bucket,
    write::{combine::Combiner, engine::Engine},
};

/// The parents of one collection and their extras in another: insert, push, read.
///
/// Opened by [`Outlier::outliers`]. Cheap to clone, to be shared by tasks; clones share what they
/// have learned about which parents are outliers.
///
/// Every call is a builder that does nothing until it is awaited, and takes an optional session
/// before that. A call that takes several steps is safe to drop between any two of them: what is
/// stored then obeys O2 to O5. In a transaction of the session, all steps commit together.
pub struct Outliers<T> {
    #[doc(hidden)]
    pub collections: OutlierCollections,
    parent: PhantomData<fn() -> T>,
}

impl<T> Clone for Outliers<T> {
    fn clone(&self) -> Self {
        Self {
            collections: self.collections.clone(),
            parent: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Outliers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outliers")
            .field(&self.collections.parents.name())
            .finish()
    }
}

impl<T: Outlier> Outliers<T> {
    #[doc(hidden)]
    pub fn new(parents: Server, extras: Engine) -> Self {
        Self {
            collections: OutlierCollections {
                spec: const { &T::SPEC },
                parents,
                extras,
                known: KnownOutliers::default(),
                combiner: Combiner::default(),
            },
            parent: PhantomData,
        }
    }

    /// The driver's handle of the parents' collection, for everything else.
    pub fn collection(&self) -> &Collection<Document> {
        self.collections.parents.collection()
    }

    /// The driver's handle of the extras' collection, for everything else.
    pub fn extras_collection(&self) -> &Collection<Document> {
        self.collections.extras.server.collection()
    }

    /// The parent with this id.
    #[doc(hidden)]
    pub fn parent(&self, id: IdRef<'_, T>) -> ParentHandle {
        let extras = KeyScope::new(const { &ExtraItem::<T>::SPEC }, <(T::Id,)>::parts(id));
        (self.collections).parent(extras.by(self.collections.extras.open))
    }
}

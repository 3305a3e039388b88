//! The handle: what a program does with parents and their extras.

use std::{fmt, marker::PhantomData};

use mongodb::{
    Collection,
    bson::{Bson, Document},
};

use super::{collections::Collections, command::ParentScope, extra::Extra, known::Known};
use crate::{
    Bucket, Result,
    error::Kind,
    outlier::{IdRef, Outlier},
    schema::{
        key::{Key, KeyField},
        spec::{BucketSpec, OutlierSpec},
    },
    server::Server,
    value::shell::shell,
    write::engine::Engine,
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
    pub(crate) collections: Collections,
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
    /// The specs as `static`s, which promotion alone does not give in generic code.
    const SPEC: &'static OutlierSpec = &T::SPEC;
    const EXTRAS: &'static BucketSpec = &Extra::<T>::SPEC;

    pub(crate) fn new(parents: Server, extras: Engine) -> Self {
        Self {
            collections: Collections {
                parents,
                extras,
                known: Known::default(),
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

    pub(crate) fn collections(&self) -> &Collections {
        &self.collections
    }

    /// The parent with this stored id; an error if the id does not have the struct's type.
    pub(crate) fn scope_of(&self, id: &Bson) -> Result<ParentScope> {
        let read = T::Id::from_bson(id.clone()).map(|id| self.scope(id.borrowed()));
        let unreadable = || Kind::UnreadableParent(shell(id));
        read.ok_or_else(|| self.collections.parents.target().error(unreadable()))
    }

    pub(crate) fn scope(&self, id: IdRef<'_, T>) -> ParentScope {
        let part = <(T::Id,)>::parts(id).remove(0);
        let open = self.collections.extras.index.get();
        ParentScope::new(Self::SPEC, Self::EXTRAS, part, open)
    }
}

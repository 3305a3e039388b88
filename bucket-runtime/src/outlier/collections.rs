//! The part of the handle that is the same for all structs.

use mongodb::error::Error as DriverError;

use super::{command::ParentScope, known::Known};
use crate::{Error, error::Kind, server::Server, write::engine::Engine};

/// The two collections, and the parents that the handle knows to be outliers.
#[derive(Clone)]
pub(crate) struct Collections {
    pub(crate) parents: Server,
    pub(crate) extras: Engine,
    pub(crate) known: Known,
}

impl Collections {
    pub(crate) fn fail(&self, scope: &ParentScope, kind: Kind) -> Error {
        Error::new(kind, self.parents.name()).with_key(&scope.extras.label())
    }

    /// An error of a write that stores or removes items.
    pub(crate) fn refused(&self, scope: &ParentScope, error: DriverError) -> Error {
        Error::write(error, self.parents.name()).with_key(&scope.extras.label())
    }

    /// The same for a write of many documents.
    pub(crate) fn refused_many(&self, scope: &ParentScope, error: DriverError) -> Error {
        Error::write_of_many(error, self.parents.name()).with_key(&scope.extras.label())
    }

    /// An error of a read, or of a step that stores no item.
    pub(crate) fn failed(&self, scope: &ParentScope, error: DriverError) -> Error {
        Error::read(error, self.parents.name()).with_key(&scope.extras.label())
    }
}

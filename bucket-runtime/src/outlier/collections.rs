//! The part of the handle that is the same for all structs.

use super::{command::ParentScope, known::Known};
use crate::{
    server::{Server, target::Target},
    write::engine::Engine,
};

/// The two collections, and the parents that the handle knows to be outliers.
#[derive(Clone)]
pub(crate) struct Collections {
    pub(crate) parents: Server,
    pub(crate) extras: Engine,
    pub(crate) known: Known,
}

impl Collections {
    /// The current call is about this parent.
    pub(crate) fn called_for(&self, scope: &ParentScope) {
        self.parents.called_for(Some(&scope.extras));
    }

    /// The context of errors that concern one parent.
    pub(crate) fn target_of<'c>(&'c self, scope: &'c ParentScope) -> Target<'c> {
        self.parents.target_of(&scope.extras)
    }
}

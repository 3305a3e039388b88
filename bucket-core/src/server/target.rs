//! The targets of requests: a collection, or one of its keys. Errors name them.
//!
//! The requests of [`Target`] fail with our [`Error`]. The few of [`Server`] return the driver's,
//! for callers that judge which statements may have been carried out.

use mongodb::{bson::RawDocument, error::Error as DriverError};

use crate::{Error, error::Kind, protocol::command::KeyScope, server::Server, value::shell};

/// The target of requests, which their errors name: a collection, and maybe one of its keys.
#[derive(Clone, Copy)]
pub struct Target<'t> {
    pub(in crate::server) server: &'t Server,
    pub scope: Option<&'t KeyScope>,
    stores_items: bool,
}

impl Server {
    /// The whole collection.
    pub fn target(&self) -> Target<'_> {
        self.target_of_any(None)
    }

    /// One key.
    pub fn target_of<'t>(&'t self, scope: &'t KeyScope) -> Target<'t> {
        self.target_of_any(Some(scope))
    }

    /// One key, or the whole collection.
    pub fn target_of_any<'t>(&'t self, scope: Option<&'t KeyScope>) -> Target<'t> {
        self.name_call(scope);
        Target {
            server: self,
            scope,
            stores_items: true,
        }
    }
}

/// A target of its own, for builders, cursors and streams.
#[derive(Debug, Clone)]
pub struct OwnedTarget {
    pub server: Server,
    pub scope: Option<KeyScope>,
}

impl OwnedTarget {
    /// A target for requests.
    pub fn borrow(&self) -> Target<'_> {
        self.server.target_of_any(self.scope.as_ref())
    }
}

impl Target<'_> {
    pub fn into_owned(self) -> OwnedTarget {
        OwnedTarget {
            server: self.server.clone(),
            scope: self.scope.cloned(),
        }
    }
}

/// Errors.
impl Target<'_> {
    /// An error of this crate.
    pub fn error(self, kind: Kind) -> Error {
        self.name_key(Error::new(kind, self.server.name()))
    }

    /// An error of a read, or of any other call that stores no item.
    pub fn read_error(self, error: DriverError) -> Error {
        self.name_key(Error::read(error, self.server.name()))
    }

    /// An error of a write.
    pub fn write_error(self, error: DriverError) -> Error {
        self.error_of(Error::write, error)
    }

    /// An error of a write of many documents: those before the refused one may have changed.
    pub fn write_of_many_error(self, error: DriverError) -> Error {
        self.error_of(Error::write_of_many, error)
    }

    fn error_of(self, write: fn(DriverError, String, bool) -> Error, error: DriverError) -> Error {
        let Self { server, .. } = self;
        match self.stores_items {
            true => self.name_key(write(error, server.name(), server.may_be_sharded())),
            false => self.read_error(error),
        }
    }

    /// The struct cannot read this document.
    pub fn unreadable(self, row: &RawDocument, error: DriverError) -> Error {
        self.error(Kind::Deserialize(shell::id(row)))
            .with_driver(error)
    }

    /// The struct cannot read this parent.
    pub fn unreadable_parent(self, row: &RawDocument, error: DriverError) -> Error {
        self.error(Kind::UnreadableParent(shell::id(row)))
            .with_driver(error)
    }

    /// The target for writes of a call that stores no item, so that no error is in doubt.
    pub fn store_no_items(self) -> Self {
        Self {
            stores_items: false,
            ..self
        }
    }

    fn name_key(self, error: Error) -> Error {
        match self.scope {
            Some(scope) => error.with_key(&scope.label()),
            None => error,
        }
    }
}

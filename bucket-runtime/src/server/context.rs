//! Where a call works: the collection, and maybe the key, that its errors name.

use mongodb::{bson::RawDocument, error::Error as DriverError};

use super::{
    Server,
    cursor::{self, CursorError},
};
use crate::{Error, error::Kind, protocol::command::KeyScope};

/// A collection, and maybe one of its keys.
#[derive(Clone, Copy)]
pub(crate) struct ErrorContext<'c> {
    server: &'c Server,
    scope: Option<&'c KeyScope>,
}

impl Server {
    /// The context of errors that concern the whole collection.
    pub(crate) fn context(&self) -> ErrorContext<'_> {
        self.context_of_any(None)
    }

    /// The context of errors that concern one key.
    pub(crate) fn context_of<'c>(&'c self, scope: &'c KeyScope) -> ErrorContext<'c> {
        self.context_of_any(Some(scope))
    }

    /// The context of errors that concern one key, or all keys.
    pub(crate) fn context_of_any<'c>(&'c self, scope: Option<&'c KeyScope>) -> ErrorContext<'c> {
        ErrorContext {
            server: self,
            scope,
        }
    }
}

impl ErrorContext<'_> {
    /// An error of this crate.
    pub(crate) fn kind(self, kind: Kind) -> Error {
        self.of_key(Error::new(kind, self.server.name()))
    }

    /// An error of a read, or of any other call that stores no item.
    pub(crate) fn read(self, error: DriverError) -> Error {
        self.of_key(Error::read(error, self.server.name()))
    }

    /// An error of a write.
    pub(crate) fn write(self, error: DriverError) -> Error {
        let Self { server, .. } = self;
        self.of_key(Error::write(error, server.name(), server.may_be_sharded()))
    }

    /// An error of a write of many documents: those before the refused one may have changed.
    pub(crate) fn write_of_many(self, error: DriverError) -> Error {
        let Self { server, .. } = self;
        self.of_key(Error::write_of_many(
            error,
            server.name(),
            server.may_be_sharded(),
        ))
    }

    /// An error of a cursor.
    pub(crate) fn row(self, error: CursorError) -> Error {
        match error {
            CursorError::Driver(error) => self.read(error),
            CursorError::Decode(row, error) => self.unreadable(&row, error),
        }
    }

    /// The struct cannot read this document.
    pub(crate) fn unreadable(self, row: &RawDocument, error: DriverError) -> Error {
        self.kind(Kind::Deserialize(cursor::id(row)))
            .with_driver(error)
    }

    /// The struct cannot read this parent.
    pub(crate) fn unreadable_parent(self, row: &RawDocument, error: DriverError) -> Error {
        self.kind(Kind::UnreadableParent(cursor::id(row)))
            .with_driver(error)
    }

    fn of_key(self, error: Error) -> Error {
        match self.scope {
            Some(scope) => error.with_key(&scope.label()),
            None => error,
        }
    }
}

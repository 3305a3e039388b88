//! The targets of requests: a collection, or one of its keys. Errors name them.
//!
//! The requests of [`Target`] fail with our [`Error`]. Those of [`Server`] return the driver's, for callers
//! that judge which statements may have been carried out.

use mongodb::{
    ClientSession,
    bson::{Document, RawDocument},
    error::Error as DriverError,
};
use serde::Serialize;

use super::{
    Server,
    cursor::{self, CursorError},
    many::Results,
};
use crate::{
    Bucket, Error, Result,
    error::Kind,
    protocol::command::{KeyScope, Update},
    value::stored_bucket::StoredBucket,
};

/// The target of requests, which their errors name: a collection, and maybe one of its keys.
#[derive(Clone, Copy)]
pub(crate) struct Target<'t> {
    pub(super) server: &'t Server,
    scope: Option<&'t KeyScope>,
    stores_items: bool,
}

impl Server {
    /// The whole collection.
    pub(crate) fn target(&self) -> Target<'_> {
        self.target_of_any(None)
    }

    /// One key.
    pub(crate) fn target_of<'t>(&'t self, scope: &'t KeyScope) -> Target<'t> {
        self.target_of_any(Some(scope))
    }

    /// One key, or the whole collection.
    pub(crate) fn target_of_any<'t>(&'t self, scope: Option<&'t KeyScope>) -> Target<'t> {
        Target {
            server: self,
            scope,
            stores_items: true,
        }
    }
}

/// A target of its own, for builders, cursors and streams.
#[derive(Debug, Clone)]
pub(crate) struct OwnedTarget {
    pub(crate) server: Server,
    pub(crate) scope: Option<KeyScope>,
}

impl OwnedTarget {
    /// A target for requests.
    pub(crate) fn borrow(&self) -> Target<'_> {
        self.server.target_of_any(self.scope.as_ref())
    }

    /// Names this target as the one that the current call concerns.
    pub(crate) fn name_call(&self) {
        self.server.called_for(self.scope.as_ref());
    }
}

impl Target<'_> {
    pub(crate) fn into_owned(self) -> OwnedTarget {
        OwnedTarget {
            server: self.server.clone(),
            scope: self.scope.cloned(),
        }
    }
}

/// Writes. Those without a word about it send one request, which the driver retries once.
impl Target<'_> {
    /// Carries out one update; returns whether it found or inserted a document. It is built again if the
    /// server interrupts it, see [`Server::update`].
    pub(crate) async fn update(
        self,
        update: impl Fn() -> Update,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let again = || Some(update());
        let found = self.server.update(update(), again, session).await;
        found.map_err(|error| self.write_error(error))
    }

    /// Carries out updates, each of which changes a document or is refused; see [`Server::update_all`].
    pub(crate) async fn update_all(self, updates: Vec<Update>, ordered: bool) -> Result<Results> {
        let results = self.server.update_all(updates, ordered).await;
        results.map_err(|error| self.write_error(error))
    }

    /// Carries out one update in a transaction, which repeats it; returns whether it changed a document.
    pub(crate) async fn modify(self, update: Update, session: &mut ClientSession) -> Result<bool> {
        let modified = self.server.modify(update, Some(session)).await;
        modified.map_err(|error| self.write_error(error))
    }

    /// Inserts one document.
    pub(crate) async fn insert(
        self,
        document: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let inserted = self.server.insert(document, session).await;
        inserted.map_err(|error| self.write_error(error))
    }

    /// Inserts documents, in a session.
    pub(crate) async fn insert_many<D: Serialize + Send + Sync>(
        self,
        documents: &[D],
        session: &mut ClientSession,
    ) -> Result<()> {
        let inserted = self.server.insert_many(documents, session).await;
        inserted.map_err(|error| self.write_error(error))
    }

    /// Replaces the matching document, if there is one; returns whether there was one.
    pub(crate) async fn replace(
        self,
        filter: Document,
        document: &Document,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let replaced = self.server.replace(filter, document, session).await;
        replaced.map_err(|error| self.write_error(error))
    }

    /// Carries out an update pipeline on all matching documents; returns how many it changed.
    pub(crate) async fn update_many(
        self,
        filter: Document,
        pipeline: Vec<Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<u64> {
        let updated = self.server.update_many(filter, pipeline, session).await;
        updated.map_err(|error| self.write_of_many_error(error))
    }

    /// Carries out an update pipeline on the matching document, if there is one, and returns these fields of
    /// the result.
    pub(crate) async fn change(
        self,
        filter: Document,
        pipeline: Vec<Document>,
        hint: Option<&str>,
        fields: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>> {
        let changed = (self.server)
            .change(filter, pipeline, hint, fields, session)
            .await;
        changed.map_err(|error| self.write_error(error))
    }

    /// Deletes the matching document, if there is one, and returns these fields of it.
    pub(crate) async fn take(
        self,
        filter: Document,
        fields: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>> {
        let taken = self.server.take(filter, fields, session).await;
        taken.map_err(|error| self.write_error(error))
    }

    /// Deletes one matching document; returns whether there was one.
    pub(crate) async fn delete_one(
        self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let deleted = self.server.delete_one(filter, session).await;
        deleted.map_err(|error| self.write_error(error))
    }

    /// Deletes all matching documents; returns how many.
    pub(crate) async fn delete_many(
        self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<u64> {
        let deleted = self.server.delete_many(filter, session).await;
        deleted.map_err(|error| self.write_of_many_error(error))
    }
}

/// Errors.
impl Target<'_> {
    /// The bucket, if it has the key of the target. Another one among the key's ids was stored by a program
    /// that does not know the format.
    pub(crate) fn expect_key<T: Bucket, E>(
        self,
        bucket: StoredBucket<T, E>,
    ) -> Result<StoredBucket<T, E>> {
        match self.scope {
            Some(scope) if !scope.holds(&bucket) => Err(self.error(Kind::ForeignId(bucket.id))),
            _ => Ok(bucket),
        }
    }

    /// An error of this crate.
    pub(crate) fn error(self, kind: Kind) -> Error {
        self.name_key(Error::new(kind, self.server.name()))
    }

    /// An error of a read, or of any other call that stores no item.
    pub(crate) fn read_error(self, error: DriverError) -> Error {
        self.name_key(Error::read(error, self.server.name()))
    }

    /// An error of a write.
    pub(crate) fn write_error(self, error: DriverError) -> Error {
        let Self { server, .. } = self;
        if !self.stores_items {
            return self.read_error(error);
        }
        self.name_key(Error::write(error, server.name(), server.may_be_sharded()))
    }

    /// An error of a write of many documents: those before the refused one may have changed.
    pub(crate) fn write_of_many_error(self, error: DriverError) -> Error {
        let Self { server, .. } = self;
        if !self.stores_items {
            return self.read_error(error);
        }
        self.name_key(Error::write_of_many(
            error,
            server.name(),
            server.may_be_sharded(),
        ))
    }

    /// An error of a cursor.
    pub(crate) fn row_error(self, error: CursorError) -> Error {
        match error {
            CursorError::Driver(error) => self.read_error(error),
            CursorError::Decode(row, error) => self.unreadable(&row, error),
        }
    }

    /// The struct cannot read this document.
    pub(crate) fn unreadable(self, row: &RawDocument, error: DriverError) -> Error {
        self.error(Kind::Deserialize(cursor::id(row)))
            .with_driver(error)
    }

    /// The struct cannot read this parent.
    pub(crate) fn unreadable_parent(self, row: &RawDocument, error: DriverError) -> Error {
        self.error(Kind::UnreadableParent(cursor::id(row)))
            .with_driver(error)
    }

    fn name_key(self, error: Error) -> Error {
        match self.scope {
            Some(scope) => error.with_key(&scope.label()),
            None => error,
        }
    }
}

/// Changes of the meaning of errors, and the rows of reads.
impl Target<'_> {
    /// The target for writes of a call that stores no item, so that no error is in doubt.
    pub(crate) fn store_no_items(self) -> Self {
        Self {
            stores_items: false,
            ..self
        }
    }

    /// The next row of a read.
    pub(crate) async fn next_row<R: serde::de::DeserializeOwned>(
        self,
        rows: &mut cursor::DocumentCursor<'_, R>,
    ) -> Result<Option<R>> {
        let row = match rows.advance().await {
            Ok(true) => rows.decode().map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        row.map_err(|error| self.read_error(error))
    }
}

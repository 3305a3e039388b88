//! The indexes of a collection.

use mongodb::{
    IndexModel,
    error::{Error as DriverError, ErrorKind},
};

use super::Server;
use crate::{command, error::write_code};

impl Server {
    /// The indexes of the collection; none if it does not exist.
    pub(crate) async fn indexes(&self) -> Result<Vec<IndexModel>, DriverError> {
        let mut cursor = match self.collection.list_indexes().await {
            Ok(cursor) => cursor,
            Err(error) if is_missing_collection(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut indexes = Vec::new();
        while cursor.advance().await? {
            indexes.push(cursor.deserialize_current()?);
        }
        Ok(indexes)
    }

    /// Makes indexes, and with them the collection if it does not exist.
    pub(crate) async fn create_indexes(&self, models: Vec<IndexModel>) -> Result<(), DriverError> {
        self.collection.create_indexes(models).await.map(drop)
    }

    /// Drops an index; one that is gone already is none to drop.
    pub(crate) async fn drop_index(&self, name: &str) -> Result<(), DriverError> {
        match self.collection.drop_index(name).await {
            Err(error) if matches!(write_code(&error), Some((27, _))) => Ok(()),
            done => done,
        }
    }

    /// Makes the index on the reference field that the manual asks for. With `_id` behind it, it
    /// also tells our pages from other documents.
    pub(crate) async fn create_reference_index(&self, reference: &str) -> Result<(), DriverError> {
        let keys = command::reference_index_keys(reference);
        let model = IndexModel::builder().keys(keys).build();
        self.collection.create_index(model).await.map(drop)
    }
}

/// NamespaceNotFound, which `listIndexes` answers for a collection that nobody has made yet.
fn is_missing_collection(error: &DriverError) -> bool {
    matches!(&*error.kind, ErrorKind::Command(command) if command.code == 26)
}

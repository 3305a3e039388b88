//! The indexes of a collection.

use std::{future::IntoFuture, time::Duration};

use mongodb::{
    IndexModel,
    bson::doc,
    error::{Error as DriverError, ErrorKind},
    options::Hint,
};

use super::Server;
use crate::{error::write_code, protocol::command};

/// How long it is waited until it is asked again whether an index is built.
const PAUSE: Duration = Duration::from_millis(50);

impl Server {
    /// The indexes of the collection, also those that are being built; none if it does not exist.
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

    /// Makes indexes, and with them the collection if it does not exist. Waits for those that are
    /// being built already.
    pub(crate) async fn create_indexes(&self, models: Vec<IndexModel>) -> Result<(), DriverError> {
        self.collection.create_indexes(models).await.map(drop)
    }

    /// Tries an update of all documents with none of these ids, by the index of this name. One round
    /// trip.
    pub(crate) async fn try_hint(&self, name: &str) -> Result<(), DriverError> {
        let none = doc! { "_id": { "$in": [] } };
        let nothing = doc! { "$set": { "_": 0 } };
        let action = self.collection.update_many(none, nothing);
        action.hint(Hint::Name(name.to_owned())).await.map(drop)
    }

    /// Drops an index; one that is gone already is none to drop.
    pub(crate) async fn drop_index(&self, name: &str) -> Result<(), DriverError> {
        match once_built(|| self.collection.drop_index(name).into_future()).await {
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

/// A change of the collection, which the server refuses while an index of it is being built
/// (BackgroundOperationInProgressForNamespace): waits until that is done, as it does itself when an
/// index is made.
pub(super) async fn once_built<F>(mut change: impl FnMut() -> F) -> Result<(), DriverError>
where
    F: Future<Output = Result<(), DriverError>>,
{
    loop {
        match change().await {
            Err(error) if matches!(write_code(&error), Some((12587, _))) => {
                tokio::time::sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}

/// NamespaceNotFound, which `listIndexes` answers for a collection that nobody has made yet.
fn is_missing_collection(error: &DriverError) -> bool {
    matches!(&*error.kind, ErrorKind::Command(command) if command.code == 26)
}

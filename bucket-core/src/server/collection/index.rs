//! The indexes of a collection.

use std::time::Duration;

use mongodb::{IndexModel, bson::doc, error::Error as DriverError};

use crate::{
    Result,
    error::{Code, is_code},
    server::{
        Server,
        read::cursor::DocumentCursor,
        target::Target,
        wire::{ReadRequest, Request},
    },
};

/// The pause between two checks of whether an index is built.
const PAUSE_BETWEEN_CHECKS: Duration = Duration::from_millis(50);

impl Target<'_> {
    /// The indexes of the collection, including those being built; none if the collection does not
    /// exist.
    pub async fn indexes(self) -> Result<Vec<IndexModel>> {
        match self.server.open(ReadRequest::Indexes, None).await {
            Ok(cursor) => DocumentCursor::new(self, cursor).rest().await,
            Err(error) if is_code(&error, Code::NamespaceNotFound) => Ok(Vec::new()),
            Err(error) => Err(self.read_error(error)),
        }
    }

    /// Drops an index; it is not an error if the index is already gone.
    pub async fn drop_index(self, name: &str) -> Result<()> {
        let drop_index = || async { self.server.send(Request::DropIndex(name), None).await };
        match retry_until_built(drop_index).await {
            Err(error) if is_code(&error, Code::IndexNotFound) => Ok(()),
            dropped => dropped.map_err(|error| self.write_error(error)),
        }
    }
}

impl Server {
    /// Creates indexes, and with them the collection if it does not exist. Waits for those that are
    /// already being built.
    pub async fn create_indexes(&self, models: Vec<IndexModel>) -> Result<(), DriverError> {
        let request = Request::CreateIndexes(models);
        self.send(request, None).await.map(drop)
    }

    /// Tries an update that matches no document, with the index of this name as a hint. One round
    /// trip.
    pub async fn try_hint(&self, name: &'static str) -> Result<(), DriverError> {
        let none = doc! { "_id": { "$in": [] } };
        let nothing = doc! { "$set": { "_": 0 } };
        let request = Request::UpdateMany(none, nothing.into(), Some(name));
        self.send(request, None).await.map(drop)
    }
}

/// Repeats a change of the collection, which the server refuses while it builds an index of it
/// (BackgroundOperationInProgressForNamespace), until that build is done. The server itself waits
/// the same way when it creates an index.
pub(in crate::server) async fn retry_until_built<T, F>(
    mut change: impl FnMut() -> F,
) -> Result<(), DriverError>
where
    F: Future<Output = Result<T, DriverError>>,
{
    loop {
        match change().await {
            Err(error) if is_code(&error, Code::BackgroundOperationInProgressForNamespace) => {
                tokio::time::sleep(PAUSE_BETWEEN_CHECKS).await;
            }
            done => return done.map(drop),
        }
    }
}

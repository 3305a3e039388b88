//! The indexes of a collection.

use std::time::Duration;

use mongodb::{IndexModel, bson::doc, error::Error as DriverError, options::Hint};

use super::{Server, cursor::DocumentCursor, simulated, target::Target};
use crate::{
    Result,
    error::{Code, is_code},
};

/// The pause between two checks of whether an index is built.
const PAUSE_BETWEEN_CHECKS: Duration = Duration::from_millis(50);

impl Target<'_> {
    /// The indexes of the collection, including those being built; none if the collection does not
    /// exist.
    pub(crate) async fn indexes(self) -> Result<Vec<IndexModel>> {
        simulated!(
            self.server,
            None,
            true,
            doc! { "listIndexes": self.server.collection.name() },
            |answer| simulated::rows(answer).map_err(|error| self.read_error(error))
        );
        match self.server.ask(self.server.collection.list_indexes()).await {
            Ok(cursor) => DocumentCursor::plain(self, cursor).rest().await,
            Err(error) if is_code(&error, Code::NamespaceNotFound) => Ok(Vec::new()),
            Err(error) => Err(self.read_error(error)),
        }
    }

    /// Drops an index; it is not an error if the index is already gone.
    pub(crate) async fn drop_index(self, name: &str) -> Result<()> {
        match retry_until_built(|| self.server.try_drop_index(name)).await {
            Err(error) if is_code(&error, Code::IndexNotFound) => Ok(()),
            dropped => dropped.map_err(|error| self.write_error(error)),
        }
    }
}

impl Server {
    /// Creates indexes, and with them the collection if it does not exist. Waits for those that are
    /// already being built.
    pub(crate) async fn create_indexes(&self, models: Vec<IndexModel>) -> Result<(), DriverError> {
        simulated!(
            self,
            None,
            true,
            doc! { "createIndexes": self.collection.name(), "indexes": simulated::documents(&models)? },
            |answer: Result<_, _>| answer.map(drop)
        );
        self.ask(self.collection.create_indexes(models))
            .await
            .map(drop)
    }

    /// Drops an index, which the server refuses while it builds one.
    async fn try_drop_index(&self, name: &str) -> Result<(), DriverError> {
        simulated!(
            self,
            None,
            true,
            doc! { "dropIndexes": self.collection.name(), "index": name },
            |answer: Result<_, _>| answer.map(drop)
        );
        self.ask(self.collection.drop_index(name)).await
    }

    /// Tries an update that matches no document, with the index of this name as a hint. One round trip.
    pub(crate) async fn try_hint(&self, name: &str) -> Result<(), DriverError> {
        let none = doc! { "_id": { "$in": [] } };
        let nothing = doc! { "$set": { "_": 0 } };
        simulated!(
            self,
            None,
            true,
            self.update_command([doc! { "q": none, "u": nothing, "multi": true, "hint": name }]),
            |answer| simulated::written(answer).map(drop)
        );
        let action = self.collection.update_many(none, nothing);
        let action = action.hint(Hint::Name(name.to_owned()));
        self.ask(action).await.map(drop)
    }
}

/// Repeats a change of the collection, which the server refuses while it builds an index of it
/// (BackgroundOperationInProgressForNamespace), until that build is done. The server itself waits the
/// same way when it creates an index.
pub(super) async fn retry_until_built<F>(mut change: impl FnMut() -> F) -> Result<(), DriverError>
where
    F: Future<Output = Result<(), DriverError>>,
{
    loop {
        match change().await {
            Err(error) if is_code(&error, Code::BackgroundOperationInProgressForNamespace) => {
                tokio::time::sleep(PAUSE_BETWEEN_CHECKS).await;
            }
            done => return done,
        }
    }
}

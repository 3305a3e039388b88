//! A collection itself: it is created and sharded, and its indexes are listed and changed.

use std::time::Duration;

use mongodb::{
    IndexModel,
    bson::{Document, doc},
    error::Error as DriverError,
    options::{CreateCollectionOptions, ValidationLevel},
};

use crate::{
    Result,
    error::{Code, is_code},
    protocol::range::Range,
    server::{
        Server,
        read::cursor::DocumentCursor,
        target::Target,
        wire::{ReadRequest, Request},
    },
};

/// Documents that are older than the validator and do not satisfy it may still be written: a bucket
/// of an earlier version of the struct accepts further items.
const VALIDATION_LEVEL: ValidationLevel = ValidationLevel::Moderate;

/// The pause between two checks of whether an index is built.
const PAUSE_BETWEEN_CHECKS: Duration = Duration::from_millis(50);

impl Server {
    /// Creates the collection, with this validator.
    pub async fn create(
        &self,
        validator: Document,
        mut options: CreateCollectionOptions,
    ) -> Result<(), DriverError> {
        options.validator = Some(validator);
        options.validation_level = Some(VALIDATION_LEVEL);
        let request = Request::Create(Box::new(options));
        self.send(request, None).await.map(drop)
    }

    /// The collection's shard key; `None` if it is not sharded, or if the user may not read the
    /// cluster's metadata.
    pub async fn shard_key(&self) -> Option<Document> {
        let config = self.collection.client().database("config");
        let collections = self.with_collection(config.collection("collections"));
        let named = doc! { "_id": self.name() };
        let found = collections.target().find(named, Range::unordered());
        let found = found.first(None).await.ok().flatten()?;
        found.get_document("key").ok().cloned()
    }

    async fn change_collection(&self, change: Document) -> Result<(), DriverError> {
        let mut command = doc! { "collMod": self.collection.name() };
        command.extend(change);
        retry_until_built(|| self.run(self.database(), &command, None)).await
    }

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

impl Target<'_> {
    /// Shards the collection. If it holds documents, the server needs an index on the shard key
    /// that holds all of them, so that index is created first. A collection that is already sharded
    /// by this key stays as it is.
    pub async fn shard(self, shard_key: Document) -> Result<()> {
        let index = IndexModel::builder().keys(shard_key.clone()).build();
        let created = self.server.create_indexes(vec![index]).await;
        created.map_err(|error| self.write_error(error))?;
        let shard = doc! { "shardCollection": self.server.name(), "key": shard_key };
        let sharded = self.server.run(self.server.admin(), &shard, None).await;
        sharded.map(drop).map_err(|error| self.write_error(error))
    }

    /// The collection's validator, empty if it has none; `None` if the collection does not exist.
    pub async fn validator(self) -> Result<Option<Document>> {
        let found = self.find_listed().await?;
        let found = found.filter(|found| {
            let kind = found.get_str("type");
            kind.is_ok_and(|kind| kind == "collection")
        });
        Ok(found.map(|found| {
            let options = found.get_document("options");
            let validator = options.and_then(|options| options.get_document("validator"));
            validator.cloned().unwrap_or_default()
        }))
    }

    /// The entry of the collection, or view, in the database's list.
    pub async fn find_listed(self) -> Result<Option<Document>> {
        let named = doc! { "name": self.server.collection().name() };
        let cursor = self
            .server
            .open(ReadRequest::Collections(named), None)
            .await;
        let cursor = cursor.map_err(|error| self.read_error(error))?;
        DocumentCursor::new(self, cursor).next_decoded().await
    }

    /// Gives the collection this validator, as soon as no index is being built.
    pub async fn set_validator(self, validator: Document) -> Result<()> {
        let change = doc! { "validator": validator, "validationLevel": "moderate" };
        let changed = self.server.change_collection(change).await;
        changed.map_err(|error| self.write_error(error))
    }

    /// Hides an index from the commands that name it, or shows it again; it is not an error if the
    /// index is gone.
    pub async fn hide_index(self, name: &str, hidden: bool) -> Result<()> {
        let change = doc! { "index": { "name": name, "hidden": hidden } };
        match self.server.change_collection(change).await {
            Err(error) if is_code(&error, Code::IndexNotFound) => Ok(()),
            changed => changed.map_err(|error| self.write_error(error)),
        }
    }

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

/// Repeats a change of the collection, which the server refuses while it builds an index of it
/// (BackgroundOperationInProgressForNamespace), until that build is done. The server itself waits
/// the same way when it creates an index.
async fn retry_until_built<T, F>(mut change: impl FnMut() -> F) -> Result<(), DriverError>
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

//! The collection itself: its creation and its validator.

use futures_util::TryStreamExt;
use mongodb::{
    bson::{Document, doc},
    error::Error as DriverError,
    options::{CreateCollectionOptions, ValidationLevel},
    results::CollectionType,
};

use super::{Server, index::once_built};

/// Documents that are older than the validator and do not satisfy it may still be written: a bucket of
/// an earlier version of the struct accepts further items.
const LEVEL: ValidationLevel = ValidationLevel::Moderate;

impl Server {
    /// Creates the collection, with this validator.
    pub(crate) async fn create(
        &self,
        validator: Document,
        mut options: CreateCollectionOptions,
    ) -> Result<(), DriverError> {
        options.validator = Some(validator);
        options.validation_level = Some(LEVEL);
        self.database()
            .create_collection(self.collection.name())
            .with_options(options)
            .await
    }

    /// The collection's validator, empty if it has none; `None` if the collection does not exist.
    pub(crate) async fn validator(&self) -> Result<Option<Document>, DriverError> {
        let database = self.database();
        let named = doc! { "name": self.collection.name() };
        let found = database.list_collections().filter(named).await?;
        let mut found = found.try_collect::<Vec<_>>().await?;
        let found = found.pop();
        Ok(found
            .filter(|found| matches!(found.collection_type, CollectionType::Collection))
            .map(|found| found.options.validator.unwrap_or_default()))
    }

    /// Gives the collection this validator, as soon as no index is being built.
    pub(crate) async fn validate(&self, validator: Document) -> Result<(), DriverError> {
        let change = doc! {
            "collMod": self.collection.name(),
            "validator": validator,
            "validationLevel": "moderate",
        };
        let database = self.database();
        once_built(async || database.run_command(change.clone()).await.map(drop)).await
    }
}

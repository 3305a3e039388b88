//! The collection itself: its creation and its validator.

use mongodb::{
    bson::{Document, doc},
    error::Error as DriverError,
    options::{CreateCollectionOptions, ValidationLevel},
    results::CollectionType,
};

use super::{Server, cursor::DocumentCursor, index::once_built};

/// Documents that are older than the validator and do not satisfy it may still be written: a bucket of
/// an earlier version of the struct accepts further items.
const VALIDATION_LEVEL: ValidationLevel = ValidationLevel::Moderate;

impl Server {
    /// Creates the collection, with this validator.
    pub(crate) async fn create(
        &self,
        validator: Document,
        mut options: CreateCollectionOptions,
    ) -> Result<(), DriverError> {
        options.validator = Some(validator);
        options.validation_level = Some(VALIDATION_LEVEL);
        let database = self.database();
        let action = database.create_collection(self.collection.name());
        self.ask(action.with_options(options)).await
    }

    /// The collection's validator, empty if it has none; `None` if the collection does not exist.
    pub(crate) async fn validator(&self) -> Result<Option<Document>, DriverError> {
        let database = self.database();
        let named = doc! { "name": self.collection.name() };
        let found = self.ask(database.list_collections().filter(named)).await?;
        let found = DocumentCursor::new(self.target(), found);
        let found = found.rest().await?.pop();
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
        let change = async || {
            self.ask(database.run_command(change.clone()))
                .await
                .map(drop)
        };
        once_built(change).await
    }
}

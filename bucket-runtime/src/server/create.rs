//! The collection itself: its creation and its validator.

use mongodb::{
    bson::{Document, doc},
    error::Error as DriverError,
    options::{CreateCollectionOptions, ValidationLevel},
};

use super::{Server, cursor::DocumentCursor, index::retry_until_built, simulated, target::Target};
use crate::{
    Result,
    error::{Code, is_code},
};

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

    async fn change_collection(&self, change: Document) -> Result<(), DriverError> {
        let mut command = doc! { "collMod": self.collection.name() };
        command.extend(change);
        retry_until_built(|| self.try_change(command.clone())).await
    }

    async fn try_change(&self, command: Document) -> Result<(), DriverError> {
        simulated!(self, None, true, command, |answer: Result<_, _>| answer
            .map(drop));
        let database = self.database();
        self.ask(database.run_command(command)).await.map(drop)
    }
}

impl Target<'_> {
    /// The collection's validator, empty if it has none; `None` if the collection does not exist.
    pub(crate) async fn validator(self) -> Result<Option<Document>> {
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

    /// What the database's list says of the collection, or view. It is a document: code that reads the driver's type
    /// for it was a sixth of this crate's LLVM IR.
    pub(crate) async fn find_listed(self) -> Result<Option<Document>> {
        let named = doc! { "name": self.server.collection().name() };
        simulated!(
            self.server,
            None,
            true,
            doc! { "listCollections": 1, "filter": named },
            |answer| (simulated::rows(answer).map(|mut found| found.pop()))
                .map_err(|error| self.read_error(error))
        );
        let database = self.server.database();
        let listed = database.list_collections().filter(named);
        let cursor = self.server.ask(listed).await;
        let cursor = cursor.map_err(|error| self.read_error(error))?;
        DocumentCursor::<Document>::plain(self, cursor.with_type())
            .next_row()
            .await
    }

    /// Gives the collection this validator, as soon as no index is being built.
    pub(crate) async fn set_validator(self, validator: Document) -> Result<()> {
        let change = doc! { "validator": validator, "validationLevel": "moderate" };
        let changed = self.server.change_collection(change).await;
        changed.map_err(|error| self.write_error(error))
    }

    /// Hides an index from the commands that name it, or shows it again; it is not an error if the index is gone.
    pub(crate) async fn hide_index(self, name: &str, hidden: bool) -> Result<()> {
        let change = doc! { "index": { "name": name, "hidden": hidden } };
        match self.server.change_collection(change).await {
            Err(error) if is_code(&error, Code::IndexNotFound) => Ok(()),
            changed => changed.map_err(|error| self.write_error(error)),
        }
    }
}

//! Pipelines, and views made of them.

use mongodb::{
    ClientSession, Database,
    bson::{Bson, Document, doc},
    error::Error as DriverError,
    options::Hint,
};
use serde::de::DeserializeOwned;

use super::{Server, primary, with_session};
use crate::{schema::names::UNIQUE_INDEX, server::cursor::DocumentCursor};

impl Server {
    /// The results of a pipeline, as they arrive.
    pub(crate) async fn stream<'s, R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        hint: Option<&'static str>,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, R>, DriverError> {
        let pipeline = Vec::from_iter(pipeline);
        let action = || {
            let action = self.collection.aggregate(pipeline.clone());
            match hint {
                Some(hint) => action.hint(Hint::Name(hint.to_owned())),
                None => action,
            }
        };
        Ok(match session {
            None => DocumentCursor::from(self.read(action).await?.with_type()),
            Some(session) => {
                let cursor = self.ask(action().session(&mut *session)).await?;
                DocumentCursor::from((cursor.with_type(), session))
            }
        })
    }

    /// The results of a pipeline, as the primary has them. It may sort on disk.
    pub(crate) async fn survey<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<DocumentCursor<'static, R>, DriverError> {
        let pipeline = Vec::from_iter(pipeline);
        let action = || {
            let action = self.collection.aggregate(pipeline.clone());
            (action.allow_disk_use(true)).selection_criteria(primary())
        };
        Ok(DocumentCursor::from(self.read(action).await?.with_type()))
    }

    /// All results of a pipeline, for pipelines with few results.
    pub(crate) async fn aggregate<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>, DriverError> {
        self.collect(pipeline, None, session).await
    }

    /// Like [`aggregate`](Self::aggregate), with the index of this name as a hint.
    pub(crate) async fn collect<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        hint: Option<&'static str>,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>, DriverError> {
        self.stream(pipeline, hint, session).await?.rest().await
    }

    /// The values of the array `identities` in all results of a pipeline, found by the unique index as
    /// the primary has it.
    pub(crate) async fn identities(
        &self,
        pipeline: [Document; 2],
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<Bson>, DriverError> {
        let action = || {
            (self.collection.aggregate(pipeline.clone()))
                .hint(Hint::Name(UNIQUE_INDEX.to_owned()))
                .selection_criteria(primary())
        };
        let rows = match session {
            None => DocumentCursor::<Document>::from(self.read(action).await?),
            Some(session) => {
                let cursor = self.ask(action().session(&mut *session)).await?;
                DocumentCursor::from((cursor, session))
            }
        };
        let rows = rows.rest().await?.into_iter();
        let identities = rows.filter_map(|mut row| match row.remove("identities") {
            Some(Bson::Array(identities)) => Some(identities),
            _ => None,
        });
        Ok(identities.flatten().collect())
    }

    /// Creates a view of the collection.
    pub(crate) async fn create_view(
        &self,
        name: &str,
        pipeline: Vec<Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<(), DriverError> {
        let database = self.database();
        let action = database
            .create_collection(name)
            .view_on(self.collection.name().to_owned())
            .pipeline(pipeline);
        with_session!(self, action, session)
    }

    /// The pipeline of the view with this name, if it is a view of the collection.
    pub(crate) async fn view_pipeline(
        &self,
        name: &str,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Vec<Document>>, DriverError> {
        let database = self.database();
        let action = database.list_collections().filter(doc! { "name": name });
        let found = match session {
            None => DocumentCursor::from(self.ask(action).await?).rest().await?,
            Some(session) => {
                let cursor = self.ask(action.session(&mut *session)).await?;
                DocumentCursor::from((cursor, session)).rest().await?
            }
        };
        let options = found.into_iter().next().map(|found| found.options);
        Ok(options
            .filter(|options| options.view_on.as_deref() == Some(self.collection.name()))
            .map(|options| options.pipeline.unwrap_or_default()))
    }

    pub(super) fn database(&self) -> Database {
        let namespace = self.collection.namespace();
        self.collection.client().database(&namespace.db)
    }
}

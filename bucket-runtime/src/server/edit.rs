//! The requests of an edit of items.

use mongodb::{
    ClientSession,
    bson::{Document, RawDocumentBuf},
    error::Error as DriverError,
    options::{Hint, ReadConcern, ReturnDocument},
};

use serde::de::DeserializeOwned;

use super::{Server, primary};
use crate::server::cursor::DocumentCursor;

impl Server {
    /// All results of a pipeline, which are few, as the primary has them.
    pub(crate) async fn some<R: DeserializeOwned>(
        &self,
        pipeline: Vec<Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>, DriverError> {
        let action = (self.collection)
            .aggregate(pipeline)
            .selection_criteria(primary());
        let mut rows = match session {
            None => {
                let rows = action.read_concern(ReadConcern::local()).await?;
                DocumentCursor::<R>::from(rows.with_type())
            }
            Some(session) => {
                let rows = action.session(&mut *session).await?;
                DocumentCursor::from((rows.with_type(), session))
            }
        };
        let mut found = Vec::new();
        while rows.advance().await? {
            found.push(rows.decode()?);
        }
        Ok(found)
    }

    /// The first result of a pipeline, as the primary has it, for a write that is about to change that
    /// document.
    pub(crate) async fn first(
        &self,
        pipeline: Vec<Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<RawDocumentBuf>, DriverError> {
        let action = (self.collection)
            .aggregate(pipeline)
            .selection_criteria(primary());
        let Some(session) = session else {
            // A transaction has its own read concern; elsewhere this one reads the latest state.
            let mut found = action.read_concern(ReadConcern::local()).await?;
            let is_there = found.advance().await?;
            return Ok(is_there.then(|| found.current().to_owned()));
        };
        let mut found = action.session(&mut *session).await?;
        let is_there = found.advance(session).await?;
        Ok(is_there.then(|| found.current().to_owned()))
    }

    /// Deletes the matching document, if there is one, and returns these fields of it. One round trip,
    /// which the driver retries like a deletion.
    pub(crate) async fn take(
        &self,
        filter: Document,
        fields: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>, DriverError> {
        let action = self
            .collection
            .find_one_and_delete(filter)
            .projection(fields);
        match session {
            Some(session) => action.session(session).await,
            None => action.await,
        }
    }

    /// Carries out an update pipeline on the matching document, if there is one, and returns these
    /// fields of the result. One round trip, which the driver retries like an update.
    pub(crate) async fn change(
        &self,
        filter: Document,
        pipeline: Vec<Document>,
        hint: Option<&str>,
        fields: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>, DriverError> {
        let mut action = (self.collection)
            .find_one_and_update(filter, pipeline)
            .projection(fields)
            .return_document(ReturnDocument::After);
        if let Some(hint) = hint {
            action = action.hint(Hint::Name(hint.to_owned()));
        }
        match session {
            Some(session) => action.session(session).await,
            None => action.await,
        }
    }
}

//! The requests of an edit of items.

use mongodb::{
    ClientSession,
    bson::Document,
    error::Error as DriverError,
    options::{Hint, ReadConcern, ReturnDocument},
};

use serde::de::DeserializeOwned;

use super::{Server, primary, with_session};
use crate::server::cursor::DocumentCursor;

impl Server {
    /// All results of a pipeline, which are few, as the primary has them, for a write that is about to
    /// change what they say.
    pub(crate) async fn latest<R: DeserializeOwned>(
        &self,
        pipeline: Vec<Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>, DriverError> {
        let action = || {
            let action = self.collection.aggregate(pipeline.clone());
            action.selection_criteria(primary())
        };
        match session {
            // A transaction has its own read concern; elsewhere this one reads the latest state.
            None => {
                let latest = || action().read_concern(ReadConcern::local());
                let rows = self.read(latest).await?;
                DocumentCursor::from(rows.with_type()).rest().await
            }
            Some(session) => {
                let rows = self.ask(action().session(&mut *session)).await?;
                DocumentCursor::from((rows.with_type(), session))
                    .rest()
                    .await
            }
        }
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
        with_session!(self, action, session)
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
        with_session!(self, action, session)
    }
}

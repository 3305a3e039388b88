//! The requests of an edit of items.

use mongodb::{
    ClientSession,
    bson::Document,
    error::Error as DriverError,
    options::{Hint, ReturnDocument},
};

use super::{Server, with_session};

impl Server {
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

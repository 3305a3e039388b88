//! The requests of an edit of items.

use mongodb::{
    ClientSession,
    bson::Document,
    options::{Hint, ReturnDocument},
};

use super::{
    call::{self, Again},
    simulated,
    target::Target,
    with_session,
};
use crate::Result;

impl Target<'_> {
    /// Deletes the matching document, if there is one, and returns these fields of it. One round trip,
    /// which the driver retries like a deletion.
    pub(crate) async fn take(
        self,
        filter: Document,
        fields: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>> {
        let action = (self.server.collection)
            .find_one_and_delete(filter)
            .projection(fields);
        let taken = with_session!(self.server, action, session);
        taken.map_err(|error| self.write_error(error))
    }

    /// Carries out an update pipeline on the matching document, which the caller has just read, and returns
    /// these fields of the result; `None` if another writer was faster. One round trip, which the driver
    /// retries like an update.
    pub(crate) async fn change(
        self,
        filter: Document,
        pipeline: Vec<Document>,
        hint: Option<&str>,
        fields: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>> {
        simulated!(
            self.server,
            session,
            true,
            (self.server).change_command(filter, pipeline, hint, fields),
            |answer| simulated::changed(answer).map_err(|error| self.write_error(error))
        );
        let mut action = (self.server.collection)
            .find_one_and_update(filter, pipeline)
            .projection(fields)
            .return_document(ReturnDocument::After);
        if let Some(hint) = hint {
            action = action.hint(Hint::Name(hint.to_owned()));
        }
        let changed = with_session!(self.server, action, session);
        if let Ok(None) = changed {
            call::again(Again::LostRace);
        }
        changed.map_err(|error| self.write_error(error))
    }
}

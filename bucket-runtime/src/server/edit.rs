//! The requests of an edit of items.

use mongodb::{
    ClientSession,
    bson::{Document, doc},
    options::{FindOneAndDeleteOptions, FindOneAndUpdateOptions, Hint, ReturnDocument},
};

use super::{simulated, target::Target, with_session};
use crate::Result;

impl Target<'_> {
    /// Carries out an update pipeline on the matching document, if there is one, or without a pipeline deletes it;
    /// returns these fields of the result, or of what was deleted. One round trip, which the driver retries.
    pub(crate) async fn change(
        self,
        filter: Document,
        pipeline: Option<Vec<Document>>,
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
        let hint = hint.map(|hint| Hint::Name(hint.to_owned()));
        let all = &self.server.collection;
        let changed = match pipeline {
            Some(pipeline) => {
                let options = FindOneAndUpdateOptions::builder().projection(fields);
                let options = options.return_document(ReturnDocument::After).hint(hint);
                let action = all.find_one_and_update(filter, pipeline);
                with_session!(self.server, action.with_options(options.build()), session)
            }
            None => {
                let options = FindOneAndDeleteOptions::builder().projection(fields);
                let action = all.find_one_and_delete(filter);
                let options = options.hint(hint).build();
                with_session!(self.server, action.with_options(options), session)
            }
        };
        changed.map_err(|error| self.write_error(error))
    }

    /// Changes or deletes the matching document, which the caller has just read; returns whether no other writer was
    /// faster.
    pub(crate) async fn change_read(
        self,
        filter: Document,
        pipeline: Option<Vec<Document>>,
        hint: Option<&str>,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let changed = self.change(filter, pipeline, hint, doc! { "_id": 1 }, session);
        Ok(changed.await?.is_some())
    }
}

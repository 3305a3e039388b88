//! Views of the collection.

use mongodb::{
    ClientSession,
    bson::{Bson, Document, doc},
    error::Error as DriverError,
};

use super::{
    Server,
    cursor::{AnyCursor, DocumentCursor},
    with_session,
};

impl Server {
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
    ) -> crate::Result<Option<Vec<Document>>> {
        let fail = |error| self.target().read_error(error);
        let database = self.database();
        let action = database.list_collections().filter(doc! { "name": name });
        let cursor = match session {
            None => (self.ask(action).await).map(|cursor| AnyCursor::Plain(cursor.with_type())),
            Some(session) => {
                let cursor = self.ask(action.session(&mut *session)).await;
                cursor.map(|cursor| AnyCursor::Session(cursor.with_type(), session))
            }
        };
        let mut found = DocumentCursor::<Document>::new(self.target(), cursor.map_err(fail)?);
        let found = found.next_row().await?.unwrap_or_default();
        let Ok(options) = found.get_document("options") else {
            return Ok(None);
        };
        let of = options.get_str("viewOn");
        let is_ours = of.is_ok_and(|of| of == self.collection.name());
        let stages = options.get_array("pipeline").into_iter().flatten();
        let stages = stages.filter_map(Bson::as_document).cloned();
        Ok(is_ours.then(|| stages.collect()))
    }
}

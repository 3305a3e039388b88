//! Views of the collection.

use mongodb::{
    ClientSession,
    bson::{Bson, Document},
    error::Error as DriverError,
};

use super::{Server, with_session};

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
        let found = self.target().find_listed(name, session).await?;
        let found = found.unwrap_or_default();
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

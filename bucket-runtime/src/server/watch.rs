//! Change streams.

use mongodb::{
    bson::{Document, doc},
    change_stream::{
        ChangeStream,
        event::{ChangeStreamEvent, ResumeToken},
    },
    error::Error as DriverError,
    options::ReadConcern,
};

use super::Server;

impl Server {
    /// What happens from now on, or from behind this event, to the documents whose `_id` matches; and
    /// that the collection is gone, which ends it.
    pub(crate) async fn watch(
        &self,
        filter: Document,
        after: Option<ResumeToken>,
    ) -> Result<ChangeStream<ChangeStreamEvent<Document>>, DriverError> {
        let of_documents = filter.into_iter();
        let of_documents = of_documents.map(|(name, test)| (format!("documentKey.{name}"), test));
        let of_documents = Document::from_iter(of_documents);
        let wanted = vec![of_documents, doc! { "operationType": "invalidate" }];
        let mut action = (self.collection.watch())
            .pipeline([doc! { "$match": { "$or": wanted } }])
            // The only one that there is for these, whatever the handle has.
            .read_concern(ReadConcern::majority());
        if let Some(after) = after {
            action = action.resume_after(after);
        }
        action.await
    }
}

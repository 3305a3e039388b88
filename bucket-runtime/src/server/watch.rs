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
    /// Events from now on, or after a token, about the documents whose `_id` matches. The removal of the
    /// collection is an event, too, and ends the stream.
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
            // Change streams allow no other read concern, whatever the handle has.
            .read_concern(ReadConcern::majority());
        if let Some(after) = after {
            action = action.resume_after(after);
        }
        self.ask(action).await
    }
}

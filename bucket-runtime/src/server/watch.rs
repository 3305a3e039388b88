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

use super::{Server, call::Calls};

/// Events of a change stream.
pub(crate) struct Events {
    stream: ChangeStream<ChangeStreamEvent<Document>>,
    /// The call that watches, for which all further batches count.
    calls: Calls,
}

impl Events {
    /// The next event; `None` if there is none at the moment. At most one round trip, in which the server
    /// waits for up to a second.
    pub(crate) async fn next(
        &mut self,
    ) -> Result<Option<ChangeStreamEvent<Document>>, DriverError> {
        self.calls.next_row(self.stream.next_if_any()).await
    }

    /// The position after the last event, or after everything that did not concern the stream.
    pub(crate) fn token(&self) -> Option<ResumeToken> {
        self.stream.resume_token()
    }

    /// Whether there may be further events.
    pub(crate) fn is_alive(&self) -> bool {
        self.stream.is_alive()
    }
}

impl From<ChangeStream<ChangeStreamEvent<Document>>> for Events {
    fn from(stream: ChangeStream<ChangeStreamEvent<Document>>) -> Self {
        Self {
            stream,
            calls: Calls::current(),
        }
    }
}

impl Server {
    /// Events from now on, or after a token, about the documents whose `_id` matches. The removal of the
    /// collection is an event, too, and ends the stream.
    pub(crate) async fn watch(
        &self,
        filter: Document,
        after: Option<ResumeToken>,
    ) -> Result<Events, DriverError> {
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
        self.ask(action).await.map(Events::from)
    }
    /// Events from now on, or after a token, about all documents of the collection, and about the document
    /// with this `_id` of another collection of the database, in the order in which they happened.
    pub(crate) async fn watch_beside(
        &self,
        other: &str,
        id: &Document,
        after: Option<ResumeToken>,
    ) -> Result<Events, DriverError> {
        let wanted = doc! { "$or": [
            { "ns.coll": self.collection.name() },
            { "ns.coll": other, "documentKey._id": id },
            { "operationType": { "$in": ["dropDatabase", "invalidate"] } },
        ] };
        let database = self.database();
        let mut action = (database.watch())
            .pipeline([doc! { "$match": wanted }])
            .read_concern(ReadConcern::majority());
        if let Some(after) = after {
            action = action.resume_after(after);
        }
        self.ask(action).await.map(Events::from)
    }
}

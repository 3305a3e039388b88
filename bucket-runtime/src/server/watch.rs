//! Change streams.

use mongodb::{
    action::Watch,
    bson::{Document, doc},
    change_stream::{
        ChangeStream,
        event::{ChangeStreamEvent, ResumeToken},
    },
    error::Error as DriverError,
    options::ReadConcern,
};

use super::{
    Server,
    call::Calls,
    target::{OwnedTarget, Target},
};
use crate::Result;

/// Events of a change stream. It knows the target of its watch, which its errors name.
pub(crate) struct Events {
    stream: ChangeStream<ChangeStreamEvent<Document>>,
    target: OwnedTarget,
    /// The call that watches, for which all further batches count.
    calls: Calls,
}

impl Events {
    /// The next event; `None` if there is none at the moment. At most one round trip, in which the server
    /// waits for up to a second.
    pub(crate) async fn next_event(&mut self) -> Result<Option<ChangeStreamEvent<Document>>> {
        let next = self.next().await;
        next.map_err(|error| self.target.borrow().read_error(error))
    }

    /// Like [`next_event`](Self::next_event), with the driver's error.
    pub(crate) async fn next(
        &mut self,
    ) -> Result<Option<ChangeStreamEvent<Document>>, DriverError> {
        self.calls.next_row(self.stream.next_if_any()).await
    }

    /// The position after the last event, or after everything that did not concern the stream.
    pub(crate) fn token(&self) -> Option<ResumeToken> {
        self.stream.resume_token()
    }

    /// The position at which the stream begins.
    pub(crate) async fn first_token(&mut self) -> Result<Option<ResumeToken>> {
        let first = self.beginning().await;
        first.map_err(|error| self.target.borrow().read_error(error))
    }

    /// Like [`first_token`](Self::first_token), with the driver's error.
    pub(crate) async fn beginning(&mut self) -> Result<Option<ResumeToken>, DriverError> {
        match self.token() {
            Some(token) => Ok(Some(token)),
            // The server gives no token with a first batch that already has events. These happened before
            // the call returns, so a later read will find what they did.
            None => Ok(self.next().await?.map(|event| event.id)),
        }
    }

    /// Whether there may be further events.
    pub(crate) fn is_alive(&self) -> bool {
        self.stream.is_alive()
    }
}

impl Target<'_> {
    /// Events from now on, or after a token, about the documents whose `_id` matches. The removal of the
    /// collection is an event, too, and ends the stream.
    pub(crate) async fn watch(
        self,
        filter: Document,
        after: Option<ResumeToken>,
    ) -> Result<Events> {
        let of_documents = filter.into_iter();
        let of_documents = of_documents.map(|(name, test)| (format!("documentKey.{name}"), test));
        let of_documents = Document::from_iter(of_documents);
        let wanted = vec![of_documents, doc! { "operationType": "invalidate" }];
        self.watch_all(self.server.collection.watch(), wanted, after)
            .await
            .map_err(|error| self.read_error(error))
    }

    /// The events that match one of these conditions.
    async fn watch_all(
        self,
        action: Watch<'_>,
        wanted: Vec<Document>,
        after: Option<ResumeToken>,
    ) -> Result<Events, DriverError> {
        let mut action = action
            .pipeline([doc! { "$match": { "$or": wanted } }])
            // Change streams allow no other read concern, whatever the handle has.
            .read_concern(ReadConcern::majority());
        if let Some(after) = after {
            action = action.resume_after(after);
        }
        Ok(Events {
            stream: self.server.ask(action).await?,
            target: self.into_owned(),
            calls: Calls::current(),
        })
    }
}

impl Server {
    /// Events from now on, or after a token, about all documents of the collection, and about the document
    /// with this `_id` of another collection of the database, in the order in which they happened.
    pub(crate) async fn watch_beside(
        &self,
        other: &str,
        id: &Document,
        after: Option<ResumeToken>,
    ) -> Result<Events, DriverError> {
        let wanted = vec![
            doc! { "ns.coll": self.collection.name() },
            doc! { "ns.coll": other, "documentKey._id": id },
            doc! { "operationType": { "$in": ["dropDatabase", "invalidate"] } },
        ];
        let action = self.database();
        let events = self.target().watch_all(action.watch(), wanted, after);
        events.await
    }
}

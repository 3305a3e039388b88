//! Change streams.

use mongodb::{
    action::Watch,
    bson::{Document, doc},
    change_stream::{
        ChangeStream,
        event::{ChangeStreamEvent, ResumeToken},
    },
    options::ReadConcern,
};

use super::{
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
        let next = self.calls.next_row(self.stream.next_if_any()).await;
        next.map_err(|error| self.target.borrow().read_error(error))
    }

    /// The position after the last event, or after everything that did not concern the stream.
    pub(crate) fn token(&self) -> Option<ResumeToken> {
        self.stream.resume_token()
    }

    /// The position at which the stream begins.
    pub(crate) async fn first_token(&mut self) -> Result<Option<ResumeToken>> {
        match self.token() {
            Some(token) => Ok(Some(token)),
            // The server gives no token with a first batch that already has events. These happened before
            // the call returns, so a later read will find what they did.
            None => Ok(self.next_event().await?.map(|event| event.id)),
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
        let action = self.server.collection.watch();
        self.watch_all(action, wanted, after).await
    }

    /// Events from now on, or after a token, about all documents of the collection, and about the document
    /// with this `_id` of another collection of the database, in the order in which they happened.
    pub(crate) async fn watch_beside(
        self,
        other: &str,
        id: &Document,
        after: Option<ResumeToken>,
    ) -> Result<Events> {
        let wanted = vec![
            doc! { "ns.coll": self.server.collection.name() },
            doc! { "ns.coll": other, "documentKey._id": id },
            doc! { "operationType": { "$in": ["dropDatabase", "invalidate"] } },
        ];
        let database = self.server.database();
        self.watch_all(database.watch(), wanted, after).await
    }

    /// The events that match one of these conditions.
    async fn watch_all(
        self,
        action: Watch<'_>,
        wanted: Vec<Document>,
        after: Option<ResumeToken>,
    ) -> Result<Events> {
        let mut action = action
            .pipeline([doc! { "$match": { "$or": wanted } }])
            // Change streams allow no other read concern, whatever the handle has.
            .read_concern(ReadConcern::majority());
        if let Some(after) = after {
            action = action.resume_after(after);
        }
        let stream = self.server.ask(action).await;
        Ok(Events {
            stream: stream.map_err(|error| self.read_error(error))?,
            target: self.into_owned(),
            calls: Calls::current(),
        })
    }
}

//! Change streams.

use mongodb::{
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

/// The events that a change stream is to show.
pub(crate) struct Watched {
    is_of_database: bool,
    wanted: Vec<Document>,
}

impl Watched {
    /// The events about the documents of a collection whose `_id` matches, and its end.
    pub(crate) fn collection(ids: Document) -> Self {
        let end = doc! { "$in": ["drop", "rename", "dropDatabase", "invalidate"] };
        Self {
            is_of_database: false,
            wanted: vec![of_keys(ids), doc! { "operationType": end }],
        }
    }

    /// The events about the documents of some collections of the database whose `_id` matches, and the end of any
    /// of these collections, in the order in which they happened. Only a stream of the database has that order.
    pub(crate) fn database<const N: usize>(collections: [(&str, Document); N]) -> Self {
        let names = collections.each_ref().map(|(name, _)| (*name).to_owned());
        let mut wanted = vec![
            doc! { "ns.coll": { "$in": names.to_vec() }, "operationType": { "$in": ["drop", "rename"] } },
            doc! { "operationType": { "$in": ["dropDatabase", "invalidate"] } },
        ];
        wanted.extend(collections.map(|(name, ids)| {
            let mut of_documents = of_keys(ids);
            of_documents.insert("ns.coll", name);
            of_documents
        }));
        Self {
            is_of_database: true,
            wanted,
        }
    }
}

/// The events about the documents whose `_id` matches.
fn of_keys(ids: Document) -> Document {
    let ids = ids.into_iter();
    ids.map(|(name, test)| (format!("documentKey.{name}"), test))
        .collect()
}

impl Target<'_> {
    /// Events from now on, or after a token.
    pub(crate) async fn watch(
        self,
        watched: &Watched,
        after: Option<ResumeToken>,
    ) -> Result<Events> {
        let database = self.server.database();
        let action = match watched.is_of_database {
            true => database.watch(),
            false => self.server.collection.watch(),
        };
        let mut action = action
            .pipeline([doc! { "$match": { "$or": &watched.wanted } }])
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

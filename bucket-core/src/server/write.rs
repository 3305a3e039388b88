//! Single writes.

pub mod many;
mod results;
pub(in crate::server) mod retryable;

use mongodb::{
    ClientSession,
    bson::{Document, doc},
    error::Error as DriverError,
};

use crate::{
    Result,
    error::{is_killed, is_statement_error},
    protocol::command::Update,
    server::{
        Server, call,
        target::Target,
        wire::{Request, Response},
        write::results::Results,
    },
};

impl Server {
    /// Carries out one update. One round trip, which the driver retries once if the connection
    /// breaks and the deployment is a replica set. If the index is dropped meanwhile, two more
    /// round trips find out whether the update was carried out: `again` builds it once more for
    /// them, since a copy of each would cost more.
    pub async fn update(
        &self,
        update: Update,
        again: &mut (dyn FnMut() -> Option<Update> + Send),
        session: Option<&mut ClientSession>,
    ) -> Result<Response, DriverError> {
        let deployment = self.deployment().await?;
        if session.is_some()
            || !deployment.takes_our_numbers()
            || deployment.breaks_off_before_writing()
        {
            return self.send(Request::Update(update), session).await;
        }
        // Our own session, so that the server can be asked about the update afterwards.
        let mut session = self.start_session().await?;
        let sent = self.send(Request::Update(update), Some(&mut session)).await;
        let error = match sent {
            Err(error) if is_killed(&error) => error,
            sent => return sent,
        };
        let Some(update) = again() else {
            return Err(error);
        };
        crate::reached!("an update again, since its plan was ended");
        call::again();
        match self.update_again(update, session).await {
            Ok(Some(response)) => Ok(response),
            Err(answer) if is_statement_error(&answer) => Err(answer),
            // The server's answer did not say, and the interrupted update may have been carried
            // out.
            Ok(None) | Err(_) => Err(error),
        }
    }
}

/// Each sends one request, which the driver retries once.
impl Target<'_> {
    /// Sends any request.
    pub async fn send(
        self,
        request: Request<'_>,
        session: Option<&mut ClientSession>,
    ) -> Result<Response> {
        let is_of_many = matches!(request, Request::UpdateMany(..) | Request::DeleteMany(_));
        let response = self.server.send(request, session).await;
        response.map_err(|error| match is_of_many {
            true => self.write_of_many_error(error),
            false => self.write_error(error),
        })
    }

    /// Carries out one update; returns whether it found or inserted a document. It is built again
    /// if the server interrupts it, see [`Server::update`].
    pub async fn update(
        self,
        update: impl Fn() -> Update + Send + Sync,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let mut again = || Some(update());
        let response = (self.server.update(update(), &mut again, session)).await;
        let response = response.map_err(|error| self.write_error(error))?;
        Ok(response.found > 0)
    }

    /// Carries out updates, each of which changes a document or is refused; see
    /// [`Server::update_all`].
    pub async fn update_all(self, updates: Vec<Update>, ordered: bool) -> Result<Results> {
        let results = self.server.update_all(updates, ordered).await;
        results.map_err(|error| self.write_error(error))
    }

    /// Carries out one update in a transaction, which repeats it; returns whether it changed a
    /// document.
    pub async fn modify(self, update: Update, session: &mut ClientSession) -> Result<bool> {
        let response = self.send(Request::Update(update), Some(session));
        Ok(response.await?.changed > 0)
    }

    /// Inserts one document.
    pub async fn insert(
        self,
        document: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let response = self.send(Request::InsertOne(document), session);
        response.await.map(drop)
    }

    /// Carries out an update pipeline on all matching documents; returns how many it changed.
    pub async fn update_many(self, filter: Document, pipeline: Vec<Document>) -> Result<u64> {
        let request = Request::UpdateMany(filter, pipeline.into(), None);
        Ok(self.send(request, None).await?.changed)
    }

    /// Deletes one matching document; returns whether there was one.
    pub async fn delete_one(
        self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        Ok(self.send(Request::Delete(filter), session).await?.found > 0)
    }

    /// Deletes all matching documents; returns how many.
    pub async fn delete_many(
        self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<u64> {
        let response = self.send(Request::DeleteMany(filter), session);
        Ok(response.await?.found)
    }

    /// Carries out an update pipeline on the matching document, if there is one, or without a
    /// pipeline deletes it; returns these fields of the result, or of what was deleted. One round
    /// trip, which the driver retries.
    pub async fn change(
        self,
        filter: Document,
        pipeline: Option<Vec<Document>>,
        hint: Option<&'static str>,
        fields: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>> {
        let request = Request::Change {
            filter,
            pipeline,
            hint,
            fields,
        };
        Ok(self.send(request, session).await?.document)
    }

    /// Changes or deletes the matching document, which the caller has just read; returns whether no
    /// other writer was faster.
    pub async fn change_read(
        self,
        filter: Document,
        pipeline: Option<Vec<Document>>,
        hint: Option<&'static str>,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let changed = self.change(filter, pipeline, hint, doc! { "_id": 1 }, session);
        Ok(changed.await?.is_some())
    }
}

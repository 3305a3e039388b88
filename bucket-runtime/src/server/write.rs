//! Single writes.

use mongodb::{
    ClientSession, bson::Document, error::Error as DriverError, options::Hint,
    results::UpdateResult,
};
use serde::Serialize;

use super::{Server, call, many::Results, simulated, target::Target, with_session};
use crate::{
    error::{is_killed, is_statement_error},
    protocol::command::Update,
};

/// What an update did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdateEffect {
    None,
    Found,
    Inserted,
}

impl UpdateEffect {
    /// Whether the update found or inserted a document.
    pub(crate) fn is_made(self) -> bool {
        self != Self::None
    }
}

impl Server {
    /// Carries out one update. One round trip, which
    /// the driver retries once if the connection breaks and the deployment is a replica set. If the
    /// index is dropped meanwhile, two more round trips find out whether the update was carried out:
    /// `again` builds it once more for them, since a copy of each would cost more.
    pub(crate) async fn update(
        &self,
        update: Update,
        again: impl FnOnce() -> Option<Update>,
        session: Option<&mut ClientSession>,
    ) -> Result<UpdateEffect, DriverError> {
        let deployment = self.deployment().await?;
        if session.is_some()
            || !deployment.takes_our_numbers()
            || deployment.breaks_off_before_writing()
        {
            return self.update_once(update, session).await;
        }
        // Our own session, so that the server can be asked about the update afterwards.
        let mut session = self.start_session().await?;
        let error = match self.update_once(update, Some(&mut session)).await {
            Err(error) if is_killed(&error) => error,
            sent => return sent,
        };
        let Some(update) = again() else {
            return Err(error);
        };
        call::again();
        match self.update_again(update, session).await {
            Ok(Some(true)) => Ok(UpdateEffect::Found),
            Ok(Some(false)) => Ok(UpdateEffect::None),
            Err(answer) if is_statement_error(&answer) => Err(answer),
            // The server's answer did not say, and the interrupted update may have been carried out.
            Ok(None) | Err(_) => Err(error),
        }
    }

    /// Sends an update once, without asking about its outcome after a broken connection: for a caller's
    /// session, and for deployments that do not take our numbers.
    pub(crate) async fn update_once(
        &self,
        update: Update,
        session: Option<&mut ClientSession>,
    ) -> Result<UpdateEffect, DriverError> {
        let result = self.send(update, session).await?;
        Ok(match result {
            UpdateResult {
                upserted_id: Some(_),
                ..
            } => UpdateEffect::Inserted,
            UpdateResult {
                matched_count: 0, ..
            } => UpdateEffect::None,
            _ => UpdateEffect::Found,
        })
    }

    async fn send(
        &self,
        update: Update,
        session: Option<&mut ClientSession>,
    ) -> Result<UpdateResult, DriverError> {
        simulated!(
            self,
            session,
            true,
            self.update_command([update.into_statement()]),
            simulated::updated
        );
        let mut action = (self.collection)
            .update_one(update.filter, update.update)
            .upsert(update.upsert);
        if let Some(hint) = update.hint {
            action = action.hint(Hint::Name(hint.to_owned()));
        }
        with_session!(self, action, session)
    }

    /// Inserts documents, in a session.
    pub(crate) async fn insert_many<D: Serialize + Send + Sync>(
        &self,
        documents: &[D],
        session: &mut ClientSession,
    ) -> Result<(), DriverError> {
        simulated!(
            self,
            Some(session),
            true,
            self.insert_command(documents, true)?,
            simulated::inserted
        );
        let collection = self.collection.clone_with_type::<D>();
        let action = collection.insert_many(documents).session(session);
        self.ask(action).await.map(drop)
    }

    /// Carries out an update pipeline on all matching documents; returns how many it changed.
    pub(crate) async fn update_many(
        &self,
        filter: Document,
        pipeline: Vec<Document>,
    ) -> Result<u64, DriverError> {
        simulated!(
            self,
            None,
            true,
            self.update_many_command(filter, pipeline),
            |answer| simulated::updated(answer).map(|result| result.modified_count)
        );
        let action = self.collection.update_many(filter, pipeline);
        let result = self.ask(action).await?;
        Ok(result.modified_count)
    }
}

/// Each sends one request, which the driver retries once.
impl Target<'_> {
    /// Carries out one update; returns whether it found or inserted a document. It is built again if the
    /// server interrupts it, see [`Server::update`].
    pub(crate) async fn update(
        self,
        update: impl Fn() -> Update,
        session: Option<&mut ClientSession>,
    ) -> crate::Result<bool> {
        let again = || Some(update());
        let found = self.server.update(update(), again, session).await;
        let found = found.map(UpdateEffect::is_made);
        found.map_err(|error| self.write_error(error))
    }

    /// Carries out updates, each of which changes a document or is refused; see [`Server::update_all`].
    pub(crate) async fn update_all(
        self,
        updates: Vec<Update>,
        ordered: bool,
    ) -> crate::Result<Results> {
        let results = self.server.update_all(updates, ordered).await;
        results.map_err(|error| self.write_error(error))
    }

    /// Carries out one update in a transaction, which repeats it; returns whether it changed a document.
    pub(crate) async fn modify(
        self,
        update: Update,
        session: &mut ClientSession,
    ) -> crate::Result<bool> {
        let result = self.server.send(update, Some(session)).await;
        let result = result.map_err(|error| self.write_error(error))?;
        Ok(result.modified_count > 0)
    }

    /// Inserts one document.
    pub(crate) async fn insert(
        self,
        document: Document,
        session: Option<&mut ClientSession>,
    ) -> crate::Result<()> {
        simulated!(
            self.server,
            session,
            true,
            (self.server.insert_command(&[document], true))
                .map_err(|error| self.write_error(error))?,
            |answer| (simulated::written(answer).map(drop))
                .map_err(|error| self.write_error(error))
        );
        let action = self.server.collection.insert_one(document);
        let result = with_session!(self.server, action, session);
        result.map(drop).map_err(|error| self.write_error(error))
    }

    /// Inserts documents, in a session.
    pub(crate) async fn insert_many<D: Serialize + Send + Sync>(
        self,
        documents: &[D],
        session: &mut ClientSession,
    ) -> crate::Result<()> {
        let inserted = self.server.insert_many(documents, session).await;
        inserted.map_err(|error| self.write_error(error))
    }

    /// Replaces the matching document, if there is one; returns whether there was one.
    pub(crate) async fn replace(
        self,
        filter: Document,
        document: &Document,
        session: Option<&mut ClientSession>,
    ) -> crate::Result<bool> {
        simulated!(
            self.server,
            session,
            true,
            (self.server)
                .update_command([mongodb::bson::doc! { "q": filter, "u": document.clone() }]),
            |answer| (simulated::updated(answer).map(|result| result.matched_count > 0))
                .map_err(|error| self.write_error(error))
        );
        let action = self.server.collection.replace_one(filter, document);
        let result = with_session!(self.server, action, session);
        let result = result.map_err(|error| self.write_error(error))?;
        Ok(result.matched_count > 0)
    }

    /// Carries out an update pipeline on all matching documents; returns how many it changed.
    pub(crate) async fn update_many(
        self,
        filter: Document,
        pipeline: Vec<Document>,
    ) -> crate::Result<u64> {
        let changed = self.server.update_many(filter, pipeline).await;
        changed.map_err(|error| self.write_of_many_error(error))
    }

    /// Deletes one matching document; returns whether there was one.
    pub(crate) async fn delete_one(
        self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> crate::Result<bool> {
        simulated!(
            self.server,
            session,
            true,
            self.server.delete_command(filter, 1),
            |answer| (simulated::deleted(answer).map(|deleted| deleted > 0))
                .map_err(|error| self.write_error(error))
        );
        let action = self.server.collection.delete_one(filter);
        let result = with_session!(self.server, action, session);
        let result = result.map_err(|error| self.write_error(error))?;
        Ok(result.deleted_count > 0)
    }

    /// Deletes all matching documents; returns how many.
    pub(crate) async fn delete_many(
        self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> crate::Result<u64> {
        simulated!(
            self.server,
            session,
            true,
            self.server.delete_command(filter, 0),
            |answer| simulated::deleted(answer).map_err(|error| self.write_of_many_error(error))
        );
        let action = self.server.collection.delete_many(filter);
        let result = with_session!(self.server, action, session);
        let result = result.map_err(|error| self.write_of_many_error(error))?;
        Ok(result.deleted_count)
    }
}

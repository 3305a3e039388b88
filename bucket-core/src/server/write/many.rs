//! Several statements in one command, each of which can be sent again without being carried out
//! twice.
//!
//! A replica set takes several updates in a command that gets its transaction number here
//! (`server/write/retryable.rs`). Elsewhere a server from 8.0 on has `bulkWrite`, which the
//! driver sends and retries, and before 8.0 each update is a command of its own.

use futures_util::future::join_all;
use mongodb::{
    ClientSession,
    bson::{RawDocumentBuf, doc},
    error::{
        BulkWriteError, Error as DriverError, ErrorKind, InsertManyError, PartialBulkWriteResult,
        WriteError,
    },
    results::VerboseBulkWriteResult,
};

use crate::{
    error::maybe_stored,
    protocol::command::Update,
    server::{
        Server,
        wire::Request,
        write::{
            results::{FoundResults, Results, results},
            retryable::Reply,
        },
    },
    value::bytes,
};

impl Server {
    /// Carries out updates, each of which changes a document or is refused.
    ///
    /// One round trip, or one for each update where the deployment allows no better. If the
    /// connection breaks, the command is sent once more, and the server carries out the statements
    /// that are still missing.
    pub async fn update_all(
        &self,
        updates: Vec<Update>,
        ordered: bool,
    ) -> Result<Results, DriverError> {
        let results = self.update_each(updates, ordered, false).await?;
        Ok(results.into_iter().map(|found| found.map(drop)).collect())
    }

    /// Carries out updates in any order, and says which of them found a document.
    ///
    /// One round trip, and a second one if the answer to the first does not tell; one for each
    /// update where the deployment allows no better.
    pub async fn update_found(&self, updates: Vec<Update>) -> Result<FoundResults, DriverError> {
        self.update_each(updates, false, true).await
    }

    /// Carries out updates. The results say whether each found a document only if they are asked to
    /// tell.
    async fn update_each(
        &self,
        updates: Vec<Update>,
        ordered: bool,
        tells_found: bool,
    ) -> Result<FoundResults, DriverError> {
        if let Some(session) = self.retryable_session().await? {
            session.update(self, updates, ordered, tells_found).await
        } else if self.deployment().await?.has_bulk_write() {
            self.bulk_write(updates, ordered, tells_found).await
        } else if tells_found {
            let updates = updates.into_iter();
            let sent = updates.map(|update| self.send(Request::Update(update), None));
            let answers = join_all(sent).await.into_iter();
            let found = answers.map(|answer| Ok(answer?.found > 0));
            Ok(found.collect())
        } else {
            Ok(self.update_one_by_one(updates, ordered).await)
        }
    }

    /// Inserts documents, as a single command that the driver retries.
    pub async fn insert_all(
        &self,
        documents: &[RawDocumentBuf],
        ordered: bool,
    ) -> Result<Results, DriverError> {
        match self.send(Request::Insert(documents, ordered), None).await {
            Ok(_) => Ok(results([], documents.len())),
            Err(error) => self.unless_in_doubt(refused_inserts(error, documents.len())?, ordered),
        }
    }

    /// The results of a command. A `mongos` passes the error of a shard's whole command on as that
    /// of its first statement, although the shard may have carried out all. So an ordered command
    /// is in doubt if a statement is that others follow.
    fn unless_in_doubt(&self, results: Results, ordered: bool) -> Result<Results, DriverError> {
        let first = results.iter().position(Result::is_err);
        let followed = first.filter(|at| ordered && at + 1 < results.len());
        match followed.map(|at| &results[at]) {
            Some(Err(error))
                if self.may_be_sharded()
                    && maybe_stored(error, true)
                    && !self.was_broken_off(error) =>
            {
                Err(error.clone())
            }
            _ => Ok(results),
        }
    }

    /// Carries out updates in a transaction, as one command, which ends with the first that is
    /// refused.
    pub async fn update_all_in(
        &self,
        updates: &[Update],
        session: &mut ClientSession,
    ) -> Result<(), DriverError> {
        let statements = updates.iter().cloned().map(Update::into_statement);
        let statements: Vec<_> = statements.collect();
        let command = doc! { "update": self.collection.name(), "updates": statements };
        let reply = self.run(self.database(), &command, Some(session)).await?;
        let results = Reply::read(reply)?.results(updates.len())?;
        results.into_iter().collect()
    }

    async fn bulk_write(
        &self,
        updates: Vec<Update>,
        ordered: bool,
        tells_found: bool,
    ) -> Result<FoundResults, DriverError> {
        let statements = updates.len();
        let (results, answered) = match self.send_bulk(updates, ordered, tells_found).await {
            Ok(answered) => (results([], statements), answered),
            Err(error) => {
                let answered = partial_result(&error).cloned();
                let refused = refused_updates(error, statements)?;
                (self.unless_in_doubt(refused, ordered)?, answered)
            }
        };
        let found = |at| {
            let updated = answered.as_ref()?.update_results.get(&at)?;
            Some(updated.matched_count > 0)
        };
        let results = results.into_iter().enumerate();
        Ok(results
            .map(|(at, result)| result.map(|()| found(at).unwrap_or(false)))
            .collect())
    }

    async fn update_one_by_one(&self, updates: Vec<Update>, ordered: bool) -> FoundResults {
        let mut results = FoundResults::with_capacity(updates.len());
        for update in updates {
            let result = self.send(Request::Update(update), None).await;
            // The results of later statements do not matter: those are not sent.
            let is_last = ordered && result.is_err();
            results.push(result.map(|answer| answer.found > 0));
            if is_last {
                break;
            }
        }
        results
    }
}

/// The results of those updates of a `bulkWrite` that were carried out before, or beside, those
/// that were refused.
fn partial_result(error: &DriverError) -> Option<&VerboseBulkWriteResult> {
    match &*error.kind {
        ErrorKind::BulkWrite(BulkWriteError {
            partial_result: Some(PartialBulkWriteResult::Verbose(result)),
            ..
        }) => Some(result),
        _ => None,
    }
}

/// The result of each update of a `bulkWrite` that did not succeed as a whole.
fn refused_updates(error: DriverError, statements: usize) -> Result<Results, DriverError> {
    use std::error::Error;

    match &*error.kind {
        // With a source, the command was interrupted in the middle; with a write concern error,
        // everything that was carried out may be lost again.
        ErrorKind::BulkWrite(bulk)
            if error.source().is_none() && bulk.write_concern_errors.is_empty() =>
        {
            let refused = bulk.write_errors.iter();
            Ok(results(
                refused.map(|(at, error)| (*at, error.clone())),
                statements,
            ))
        }
        _ => Err(error),
    }
}

/// The result of each document of an insert that did not succeed as a whole.
fn refused_inserts(error: DriverError, documents: usize) -> Result<Results, DriverError> {
    let ErrorKind::InsertMany(InsertManyError {
        write_errors: Some(refused),
        write_concern_error: None,
        ..
    }) = &*error.kind
    else {
        return Err(error);
    };
    // For inserts the driver has another error type, which also holds the statement's index.
    let refused = refused.iter().map(|one| {
        let error = bytes::write(one).ok()?;
        Some((one.index, bytes::read::<WriteError>(&error).ok()?))
    });
    let refused: Option<Vec<_>> = refused.collect();
    refused.map_or(Err(error), |refused| Ok(results(refused, documents)))
}

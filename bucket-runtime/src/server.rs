//! The only module that talks to the server.

pub(crate) mod call;
mod create;
pub(crate) mod current_index;
pub(crate) mod cursor;
mod deployment;
mod edit;
mod fill;
mod index;
mod last_buckets;
pub(crate) mod many;
mod pipeline;
pub(crate) mod read;
mod retryable;
mod shard;
pub(crate) mod target;

pub(crate) mod transaction;
pub(crate) mod watch;
mod write;

use std::sync::Arc;

use mongodb::{
    ClientSession, Collection,
    bson::Document,
    error::Error as DriverError,
    options::{CollectionOptions, ReadConcern, ReadPreference, SelectionCriteria},
};
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

use self::{call::Again, deployment::Deployment, retryable::RetryableSessions};
use crate::{
    Error,
    error::{Kind, is_killed},
    protocol::{command::KeyScope, range::Range},
    server::cursor::DocumentCursor,
    value::element::whole,
};

/// Carries out an action of the driver, in the session if there is one.
macro_rules! with_session {
    ($server:expr, $action:expr, $session:expr) => {
        match $session {
            Some(session) => $server.ask($action.session(session)).await,
            None => $server.ask($action).await,
        }
    };
}
use with_session;

/// Carries out a read of the driver, which this closure builds, in the session if there is one.
macro_rules! read_in_session {
    ($server:expr, $action:expr, $session:expr) => {
        match $session {
            Some(session) => $server.ask($action().session(session)).await,
            None => $server.read($action).await,
        }
    };
}
use read_in_session;

/// How often a read is sent again at most, because the server ended its plan.
const PLANS_KILLED: u32 = 3;

/// A collection, and the requests that the runtime sends to it.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    collection: Collection<Document>,
    deployment: Arc<OnceCell<Deployment>>,
    retryable_sessions: RetryableSessions,
    /// Whether spans name keys.
    traces_keys: bool,
}

impl Server {
    pub(crate) fn new(collection: Collection<Document>) -> Self {
        Self {
            collection,
            deployment: Arc::default(),
            retryable_sessions: RetryableSessions::default(),
            traces_keys: false,
        }
    }

    /// Another collection of the same deployment, which is not asked for its kind again.
    pub(crate) fn beside(&self, collection: Collection<Document>) -> Self {
        Self {
            deployment: Arc::clone(&self.deployment),
            traces_keys: self.traces_keys,
            ..Self::new(collection)
        }
    }

    /// Reads from the members of the replica set that this preference allows.
    pub(crate) fn prefer(&mut self, preference: ReadPreference) {
        self.set(|options| options.selection_criteria = Some(preference.into()));
    }

    /// Uses this read concern.
    pub(crate) fn read_by(&mut self, concern: ReadConcern) {
        self.set(|options| options.read_concern = Some(concern));
    }

    /// The driver sets these options only for a new handle of the collection.
    fn set(&mut self, change: impl FnOnce(&mut CollectionOptions)) {
        let mut options = CollectionOptions::default();
        options.selection_criteria = self.collection.selection_criteria().cloned();
        options.read_concern = self.collection.read_concern().cloned();
        options.write_concern = self.collection.write_concern().cloned();
        change(&mut options);
        let database = self.database();
        self.collection = database.collection_with_options(self.collection.name(), options);
    }

    pub(crate) fn collection(&self) -> &Collection<Document> {
        &self.collection
    }

    /// The kind of deployment that answers. The server is asked only once.
    async fn deployment(&self) -> Result<Deployment, DriverError> {
        let ask = || self.ask(Deployment::ask(self.collection.client()));
        self.deployment.get_or_try_init(ask).await.copied()
    }

    /// The kind of deployment, or an error in the context of a call whose first request this is.
    pub(crate) async fn known_deployment(&self) -> Result<Deployment, Error> {
        let known = self.deployment().await;
        known.map_err(|error| self.target().read_error(error))
    }

    /// An error if this call cannot work because the server belongs to no replica set.
    pub(crate) async fn needs_replica_set(&self, call: &'static str) -> Result<(), Error> {
        match self.known_deployment().await?.is_standalone() {
            true => Err(self.target().error(Kind::Standalone(call))),
            false => Ok(()),
        }
    }

    /// Whether a `mongos` is known to answer.
    pub(crate) fn is_sharded(&self) -> bool {
        self.deployment
            .get()
            .is_some_and(|known| known.is_sharded())
    }

    /// Whether a `mongos` may be answering: then a statement's error proves less.
    pub(crate) fn may_be_sharded(&self) -> bool {
        self.deployment.get().is_none_or(|known| known.is_sharded())
    }

    /// Whether an update is known not to be carried out if its index was dropped meanwhile.
    pub(crate) fn breaks_off_before_writing(&self) -> bool {
        (self.deployment.get()).is_some_and(|known| known.breaks_off_before_writing())
    }

    /// The key's buckets with these ids, so that the `_id` index alone finds them. A `mongos` needs the
    /// key fields, too: otherwise it would ask all shards, and these read the documents in any case.
    pub(crate) fn by_ids(&self, scope: &KeyScope, ids: Document) -> Document {
        match self.is_sharded() {
            true => scope.with_key(ids),
            false => ids,
        }
    }

    /// The collection as `database.collection`.
    pub(crate) fn name(&self) -> String {
        self.collection.namespace().to_string()
    }

    /// Sends the read that this closure builds; again, if the server ends its plan because an index was
    /// dropped, or changed by the first array in it (QueryPlanKilled).
    async fn read<T, A>(&self, action: impl Fn() -> A) -> Result<T, DriverError>
    where
        A: IntoFuture<Output = Result<T, DriverError>>,
    {
        for _ in 0..PLANS_KILLED {
            match self.ask(action()).await {
                Err(error) if is_killed(&error) => {
                    call::again(Again::Interrupted);
                }
                answer => return answer,
            }
        }
        self.ask(action()).await
    }

    /// Finds documents.
    pub(crate) async fn find<'s, R>(
        &self,
        filter: Document,
        range: Range,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, R>, DriverError>
    where
        R: DeserializeOwned,
    {
        let action = || {
            let mut action = self.collection.find(filter.clone());
            if let Some(sort) = &range.sort {
                action = action.sort(sort.clone());
            }
            if let Some(projection) = &range.projection {
                action = action.projection(projection.clone());
            }
            if range.skip > 0 {
                action = action.skip(range.skip);
            }
            if let Some(limit) = range.limit {
                action = action.limit(limit);
            }
            action
        };
        Ok(match session {
            None => DocumentCursor::from(self.read(action).await?.with_type()),
            Some(session) => {
                let cursor = self.ask(action().session(&mut *session)).await?;
                DocumentCursor::from((cursor.with_type(), session))
            }
        })
    }

    /// The number of matching documents, counted on the index alone if the filter is a range of ids.
    pub(crate) async fn count_documents(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<u64, DriverError> {
        let action = || self.collection.count_documents(filter.clone());
        read_in_session!(self, action, session)
    }

    /// The field `items` of a pipeline's only result; 0 if there is no result.
    pub(crate) async fn sum(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<u64, DriverError> {
        let found = self.aggregate::<Document>(pipeline, session).await?;
        let sum = found.first().and_then(|sum| sum.get("items"));
        Ok(sum
            .and_then(whole)
            .and_then(|sum| u64::try_from(sum).ok())
            .unwrap_or(0))
    }

    /// One matching document.
    pub(crate) async fn find_one(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>, DriverError> {
        let action = || {
            let action = self.collection.find_one(filter.clone());
            action.selection_criteria(primary())
        };
        read_in_session!(self, action, session)
    }

    /// Reads these fields of one matching document; for a write, as the primary has it.
    pub(crate) async fn fields(
        &self,
        filter: Document,
        fields: Document,
        for_a_write: bool,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>, DriverError> {
        let action = || {
            let action = self.collection.find_one(filter.clone());
            let action = action.projection(fields.clone());
            match for_a_write {
                true => action.selection_criteria(primary()),
                false => action,
            }
        };
        read_in_session!(self, action, session)
    }

    /// All results of a pipeline, which may sort on disk.
    pub(crate) async fn scan<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<DocumentCursor<'static, R>, DriverError> {
        let pipeline = Vec::from_iter(pipeline);
        let action = || {
            let action = self.collection.aggregate(pipeline.clone());
            action.allow_disk_use(true)
        };
        Ok(DocumentCursor::from(self.read(action).await?.with_type()))
    }
}

/// The primary, for reads that belong to a write, whatever the handle's read preference.
fn primary() -> SelectionCriteria {
    SelectionCriteria::ReadPreference(ReadPreference::Primary)
}
